"""Ctrl-C, wherever it comes in a run with a lane in a process: a step is wholly in or out, nothing is left."""

from __future__ import annotations

import pytest

from graph import Runtime
from tests.fakes import HANG_S, chain, lanes_alive
from tests.graph.lanes.acting import nothing
from tests.graph.lanes.driving import children, running
from tests.graph.test_runtime_bubbles import lagging
from tests.graph.test_runtime_interrupts import interrupting

pytestmark = pytest.mark.usefixtures("nothing_left")

CHAIN = chain(["make"], ["use"], ["tell"])


@pytest.mark.parametrize("name", ["chain", pytest.param("lagging", marks=pytest.mark.slow)])
def test_an_interrupt_anywhere_in_submit_leaves_the_step_wholly_in_or_wholly_out(name: str) -> None:
    topology, lanes = (CHAIN, ["lane0", "lane1"]) if name == "chain" else (lagging(1), ["host"])
    line, interrupted, steps = 0, True, 0
    with running(topology, lanes, nothing) as run:
        while interrupted:
            line += 1
            interrupted = interrupting(lambda: run.submit("interrupted"), line)
            result = run.submit("after").result(timeout=HANG_S)
            assert result in (steps, steps + 1)
            steps = result + 1
        for index in range(2 * run.capacity):
            assert run.submit("no room is lost").result(timeout=HANG_S) == steps + index
        assert run.held_slots() == []
    assert line > 20


@pytest.mark.slow
@pytest.mark.parametrize("cancel", [False, True])
def test_an_interrupt_anywhere_in_stop_ends_the_run_all_the_same(cancel: bool) -> None:
    line, interrupted = 0, True
    while interrupted:
        line += 1
        run = running(CHAIN, ["lane1"], nothing)
        run.__enter__()
        tickets = [run.submit(index) for index in range(3)]
        interrupted = interrupting(lambda run=run: run._stop(cancel), line)  # type: ignore[misc]
        assert all(ticket.done() for ticket in tickets)
        assert lanes_alive() == []
        assert children() == []
    assert line > 10


@pytest.mark.slow
def test_an_interrupt_anywhere_in_the_start_leaves_neither_lane_nor_process() -> None:
    line, interrupted = 0, True
    while interrupted:
        line += 1
        run = running(CHAIN, ["lane1"], nothing)
        interrupted = interrupting(lambda run=run: _enter_and_leave(run), line)  # type: ignore[misc]
        assert lanes_alive() == []
        assert children() == []
    assert line > 10


def _enter_and_leave(run: Runtime) -> None:
    with run:
        pass
