"""Ctrl-C, wherever it comes in a run with a lane in a process: a step is wholly in or out, nothing is left."""

from __future__ import annotations

import pytest

from graph import Runtime
from tests.fakes import HANG_S, chain, lanes_alive
from tests.graph.interrupts import interrupting, submits_interrupted
from tests.graph.lanes.acting import nothing, slow
from tests.graph.lanes.driving import children, running
from tests.graph.test_runtime_bubbles import lagging

pytestmark = pytest.mark.usefixtures("nothing_left")

CHAIN = chain(["make"], ["use"], ["tell"])


@pytest.mark.parametrize("name", ["chain", pytest.param("lagging", marks=pytest.mark.slow)])
def test_an_interrupt_anywhere_in_submit_leaves_the_step_wholly_in_or_wholly_out(name: str) -> None:
    topology, lanes = (CHAIN, ["lane0", "lane1"]) if name == "chain" else (lagging(1), ["host"])
    with running(topology, lanes, nothing) as run:
        assert submits_interrupted(run) > 20


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


@pytest.mark.slow
def test_an_interrupt_anywhere_in_cancel_leaves_no_lane_waiting() -> None:
    """The board used to say that the step had failed, and a lane that asked why waited for ever."""
    line, interrupted = 0, True
    while interrupted:
        line += 1
        with running(CHAIN, ["lane1"], slow, {"use": 0.05}) as run:
            tickets = [run.submit(index) for index in range(4)]
            interrupted = interrupting(tickets[-1].cancel, line)
            assert [ticket.result(timeout=HANG_S) for ticket in tickets[:3]] == [0, 1, 2]
        assert all(ticket.done() for ticket in tickets)
        assert lanes_alive() == []
    assert line > 3
