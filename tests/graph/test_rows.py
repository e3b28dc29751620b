"""Rows of request-keyed state, each tenancy with a generation of its own."""

from __future__ import annotations

import threading

import pytest

from graph.rows import RequestRows
from tests.fakes import HANG_S, probed


def reserved(rows: RequestRows) -> tuple[int, int]:
    pair = rows.reserve()
    assert pair is not None
    return pair


def test_every_row_is_handed_out_once_and_then_no_more() -> None:
    rows = RequestRows(3)
    assert sorted(row for row, _ in (reserved(rows), reserved(rows), reserved(rows))) == [0, 1, 2]
    assert rows.reserve() is None
    assert rows.taken == 3


def test_a_row_comes_back_with_a_new_generation() -> None:
    rows = RequestRows(1)
    first = reserved(rows)
    rows.free(*first)
    second = reserved(rows)
    assert second[0] == first[0]
    assert second[1] > first[1] >= 1


def test_an_earlier_owner_cannot_free_the_row_of_the_next() -> None:
    rows = RequestRows(1)
    first = reserved(rows)
    rows.free(*first)
    rows.free(*first)
    reserved(rows)
    rows.free(*first)
    assert rows.reserve() is None


@pytest.mark.parametrize("pair", [(3, 1), (-1, 1), (0, 0), (0, 2)])
def test_pairs_that_were_never_handed_out_are_refused(pair: tuple[int, int]) -> None:
    rows = RequestRows(3)
    assert reserved(rows) == (0, 1)
    rows.check(((0, 1),))
    with pytest.raises(ValueError, match="row"):
        rows.check((pair,))


def test_rows_are_never_handed_out_twice_under_contention() -> None:
    rows = RequestRows(4)
    clashes: list[int] = []
    held = [0] * 4

    def worker() -> None:
        for _ in range(300):
            pair = rows.reserve()
            if pair is not None:
                held[pair[0]] += 1
                if held[pair[0]] != 1:
                    clashes.append(pair[0])
                held[pair[0]] -= 1
                rows.free(*pair)

    threads = [threading.Thread(target=worker) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
    assert clashes == []
    assert rows.taken == 0


def test_a_run_has_as_many_rows_as_its_request_state() -> None:
    run = probed("pingpong", dims={"capacity": 5}).run()
    assert run.rows is not None
    assert run.rows.capacity == 5


def test_a_step_may_only_name_rows_that_were_reserved() -> None:
    with probed("sync").run() as run:
        with pytest.raises(ValueError, match="generation"):
            run.submit(0, rows=((0, 1),))
        with pytest.raises(ValueError, match="no route `nowhere`"):
            run.submit(0, route="nowhere")
