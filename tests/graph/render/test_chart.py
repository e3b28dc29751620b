"""The lane chart: rows of bounded width in which the clash is in plain sight."""

from __future__ import annotations

import re

import pytest

from graph.diagnostics import Firing, TopologyError
from graph.explain import explained
from graph.reading import load
from graph.render.chart import chart, slot_notes
from graph.validate import diagnose
from tests.graph.headers import CASES


def drawn(case: str) -> list[str]:
    topology = load(CASES / f"{case}.fault.yaml")
    found = explained(topology, diagnose(topology))[0]
    return chart(found.schedule, slot_notes(topology, found))


def test_a_slot_that_goes_back_too_soon() -> None:
    assert drawn("early_release_under_reclaim") == [
        "host   prepare0 prepare1               prepare2",
        "device          dispatch0 free_inputs0 dispatch1",
        "output                    reclaim0---------------",
        "inputs slot 0: acquired by prepare(0) at t=0, read by reclaim(0) from t=2 to t=5, released by",
        "  free_inputs(0) at t=3, acquired by prepare(2) at t=3",
    ]


def test_a_race_on_a_persistent_buffer() -> None:
    assert drawn("request_map_rewritten") == [
        "scheduler schedule0 schedule1",
        "gpu                 forward0--",
        "req_to_token: read by forward(0) from t=1 to t=3, written by schedule(1) from t=1 to t=2",
    ]


def test_results_out_of_order() -> None:
    assert drawn("stream_reordered_by_lag") == [
        "device step0 step1   step2",
        "output       tokens0 tokens1 tokens2 flush0",
        "results: emitted by tokens(1) at t=3, then by flush(0) at t=5",
    ]


def test_a_deadlock_needs_no_note() -> None:
    assert drawn("lagged_reclaim_one_slot") == ["host   prepare0", "device          dispatch0"]


def long_run(steps: int) -> list[Firing]:
    return [
        firing
        for step in range(steps)
        for firing in (
            Firing("prepare", step, "host", step, step + 1),
            Firing("dispatch", step, "device", step + 1, step + 2),
        )
    ]


@pytest.mark.parametrize("width", [40, 80, 100])
def test_a_long_schedule_shows_its_end(width: int) -> None:
    rows = chart(long_run(50), width=width)
    assert max(len(row) for row in rows) <= width
    assert rows[1].endswith("dispatch49")
    assert [re.split("[ |]", row)[0] for row in rows] == ["host", "device"]


def test_a_firing_from_before_the_cut_is_drawn_to_its_end() -> None:
    rows = chart([*long_run(50), Firing("late", 0, "output", 1, 52)], width=60)
    assert rows[2].startswith("output|late0-----")
    assert len(rows[2]) <= 60


def test_names_on_one_lane_never_touch() -> None:
    for path in CASES.glob("*.fault.yaml"):
        try:
            topology = load(path)
        except TopologyError:
            continue
        for found in explained(topology, diagnose(topology)):
            for row in chart(found.schedule):
                names = {f"{firing.node}{firing.step}" for firing in found.schedule}
                assert all(word.rstrip("-") in names for word in row.replace("|", " ").split()[1:]), row


def test_nothing_to_draw() -> None:
    assert chart([], ["a note"]) == ["a note"]
