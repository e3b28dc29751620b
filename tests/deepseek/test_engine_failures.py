"""A failed step fails its own requests; whatever fails, nothing is left behind."""

from dataclasses import replace
from typing import Any

import pytest

from deepseek.engine import Engine, Request, RequestError
from deepseek.sizes import Sizes
from deepseek.steps import Retire
from graph import InternalError, StepError
from graph.errors import RuntimeStopped, Unfinished
from tests.deepseek.scripted import Scripted, expected, told

TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind")
SIZES = Sizes(50, 64, batch=4, capacity=4, rows=2, packed=1, chunk=4, page=4)
REQUESTS = [Request((3, 4, 5 + number) * (1 + number), 14) for number in range(6)]


class FailsAt:
    """Raises at the n-th call of a node."""

    def __init__(self, node: str, call: int, error: Exception) -> None:
        self.node, self.call, self.calls, self.error = node, call, 0, error
        self.failed: Any = None

    def __call__(self, node: str, step: Any) -> None:
        if node == self.node:
            self.calls += 1
            if self.calls == self.call:
                self.failed = step.rows
                raise self.error


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize(
    "node",
    ["prepare", "bind", "dispatch", "reclaim", "release", "prepare_prefill", "prefill", "reclaim_mixed"],
)
def test_a_failed_step_fails_its_requests_and_no_others(topology: str, node: str) -> None:
    fails = FailsAt(node, 3, RuntimeError("injected"))
    with Scripted(SIZES, topology, before=fails).engine() as engine:
        found = told(engine.generate(REQUESTS))
    assert fails.failed
    finishes = [found[str(number)].finish for number in range(len(REQUESTS))]
    assert 0 < finishes.count("error") <= len(fails.failed)
    for number, request in enumerate(REQUESTS):
        one, whole = found[str(number)], expected(request, 50)
        if one.finish == "error":
            assert isinstance(one.error, StepError)
            assert one.error.node == node
            assert one.tokens == whole[: len(one.tokens)]
        else:
            assert (one.finish, one.tokens) == ("length", whole)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("node", ["prepare_retire", "retire"])
def test_a_failed_retirement_harms_nobody(topology: str, node: str) -> None:
    fails = FailsAt(node, 1, RuntimeError("injected"))
    with Scripted(SIZES, topology, before=fails).engine() as engine:
        found = told(engine.generate(REQUESTS))
    assert fails.failed
    assert [found[str(n)].tokens for n in range(len(REQUESTS))] == [expected(one, 50) for one in REQUESTS]


def test_rows_and_pages_of_an_unfinished_device_call_stay_out_of_use() -> None:
    script = Scripted(SIZES, before=FailsAt("dispatch", 2, Unfinished("who knows")))
    with script.engine() as engine:
        events = engine.generate(REQUESTS)
        found = told(events)
        lost = engine.stats.withdrawn_rows
    failed = [id for id, one in found.items() if one.finish == "error"]
    assert lost == len(failed) > 0
    assert all(one.finish == "length" for id, one in found.items() if id not in failed)


def test_requests_that_no_row_is_left_for_are_refused() -> None:
    sizes = replace(SIZES, batch=1, capacity=1)
    script = Scripted(sizes, before=FailsAt("dispatch", 1, Unfinished("who knows")))
    with script.engine() as engine:
        found = told(engine.generate(REQUESTS[:3]))
    assert [found[id].finish for id in "012"] == ["error"] * 3
    last = found["2"].error
    assert last is not None
    assert isinstance(last.cause, RequestError)
    assert "start a new run" in str(last.cause)


def test_a_request_that_no_longer_fits_the_pages_left_is_refused() -> None:
    sizes = Sizes(50, 40, batch=1, capacity=3, rows=1, packed=1, chunk=40, page=4, pages=10)
    script = Scripted(sizes, before=FailsAt("dispatch", 1, Unfinished("who knows")))
    with script.engine() as engine:
        found = told(engine.generate([Request((1,) * 12, 4), Request((2,) * 20, 20), Request((3,) * 4, 4)]))
    assert [found[id].finish for id in "012"] == ["error", "error", "length"]
    refused = found["1"].error
    assert refused is not None
    assert "do not fit the 6 of 10 pages" in str(refused.cause)


def test_a_run_that_ends_meanwhile_is_told_and_leaves_nothing() -> None:
    script = Scripted(SIZES)
    run = script.run()
    with run:
        engine = Engine(run, SIZES)
        for request in REQUESTS:
            engine.add(request)
        events = engine.events()
        next(events)
        run.stop()
        with pytest.raises(RuntimeStopped):
            list(events)
        engine.close()
    assert run.rows is not None
    assert run.rows.taken == 0


def test_an_error_in_the_block_is_not_hidden_by_closing() -> None:
    def leave(engine: Engine) -> None:
        with engine:
            next(engine.generate(REQUESTS))
            raise KeyError("mine")

    with Scripted(SIZES).run() as run:
        engine = Engine(run, SIZES)
        with pytest.raises(KeyError, match="mine"):
            leave(engine)
        assert engine.stats.requests["abort"] > 0
        assert run.rows is not None
        assert run.rows.taken == 0


def test_what_is_left_is_named() -> None:
    script = Scripted(SIZES)
    with script.engine() as engine:
        events = engine.generate(REQUESTS)
        next(events)
        with pytest.raises(
            InternalError, match=r"still has a step of route `.*row 0 and pages .* of request `0`"
        ):
            engine.check_integrity()
        list(events)
        engine.check_integrity()
        stray = engine._scheduler._paging._pages.take(1)
        assert stray is not None
        with pytest.raises(InternalError, match=f"page {stray[0]}, which nobody has"):
            engine.check_integrity()
        engine._scheduler._paging.give_back(stray)


def test_every_request_is_retired_once() -> None:
    script = Scripted(SIZES, "deep")
    with script.engine() as engine:
        list(engine.generate(REQUESTS))
    rows = [row for _, command in script.log if isinstance(command, Retire) for row in command.rows]
    assert len(rows) == len(set(rows)) == len(REQUESTS)
