"""Every way in which a lane's process can end: no ticket stays unresolved, nothing is left behind."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from graph import BindError, LaneDied, LifecycleError, RuntimeStopped, StepError, Stuck
from graph.errors import InternalError
from tests.fakes import HANG_S, chain, lanes_alive, until
from tests.graph.lanes.acting import Failing, Failure, ends_itself, fail, nothing, slow, slow_first
from tests.graph.lanes.driving import NAMES, children, names_left, running

pytestmark = pytest.mark.usefixtures("nothing_behind")

CHAIN = chain(["make"], ["use"], ["tell"])
LANES = [*CHAIN.lanes]


@pytest.fixture
def nothing_behind(nothing_left: None) -> Iterator[None]:
    """Neither processes nor names of semaphores."""
    NAMES.clear()
    yield
    assert children() == []
    assert NAMES
    assert names_left(NAMES) == []


# -- nodes that fail to start or stop ----------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [("lane1",), pytest.param(("lane0", "lane1"), marks=pytest.mark.slow)])
def test_a_node_that_fails_to_start_in_its_process_is_told_as_on_a_thread(lanes: tuple[str, ...]) -> None:
    run = running(CHAIN, lanes, nothing, {"start": "use"})
    with pytest.raises(LifecycleError, match="`use` failed to start") as raised, run:
        pytest.fail("the block must not run")
    assert isinstance(raised.value.cause, Failure)
    assert lanes_alive() == []
    with pytest.raises(RuntimeStopped):
        run.submit(0)


def test_a_node_that_fails_to_start_on_a_thread_ends_the_process_of_another_lane() -> None:
    with (
        pytest.raises(LifecycleError, match="`use` failed to start"),
        running(CHAIN, ["lane0"], nothing, {"start": "use"}),
    ):
        pytest.fail("the block must not run")


def test_a_node_that_fails_to_stop_is_told_after_all_results() -> None:
    with (
        pytest.raises(LifecycleError, match="`use` failed to stop") as raised,
        running(CHAIN, ["lane1"], nothing, {"stop": "use"}) as run,
    ):
        ticket = run.submit(0)
    assert raised.value.phase == "stop"
    assert ticket.result(timeout=0) == 0


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("fails", r"factory fails in the process of lane `lane1`: Failure\('factory'\)"),
        ("lacks", "lacks use"),
    ],
)
def test_an_executor_that_cannot_be_made_in_the_process(what: str, message: str) -> None:
    with pytest.raises(BindError, match=message), running(CHAIN, ["lane1"], nothing, {"factory": what}):
        pytest.fail("the block must not run")


def test_a_process_that_ends_before_it_has_started() -> None:
    with (
        pytest.raises(LaneDied, match="lane `lane1` ended unexpectedly: exit code 7"),
        running(CHAIN, ["lane1"], nothing, {"factory": "exits"}),
    ):
        pytest.fail("the block must not run")


# -- death -------------------------------------------------------------------------------------------------------


def die(run: Any, tickets: list[Future[Any]], steps: int = 10_000) -> None:
    """Submit until the run says that it has ended; then every ticket must have an outcome."""
    with pytest.raises(RuntimeStopped):
        for index in range(steps):
            tickets.append(run.submit(index))
    for ticket in tickets:
        ticket.exception(timeout=HANG_S)


def check_outcomes(tickets: list[Future[Any]], lane: str, code: int) -> None:
    """Results first, then nothing but the death of the lane: no error overtakes a result."""
    assert all(ticket.done() for ticket in tickets)
    errors = [ticket.exception(timeout=0) for ticket in tickets]
    first = next((index for index, error in enumerate(errors) if error is not None), len(errors))
    assert [ticket.result(timeout=0) for ticket in tickets[:first]] == list(range(first))
    for index, error in enumerate(errors[first:], first):
        if error is None:
            assert tickets[index].result(timeout=0) == index  # was complete, and only waited for its turn
        else:
            assert isinstance(error, LaneDied)
            assert (error.lane, error.exit_code) == (lane, code)


@pytest.mark.parametrize(("node", "code"), [("make", 5), ("use", -signal.SIGSEGV), ("tell", 0)])
def test_a_node_that_ends_its_process_ends_the_run(node: str, code: int) -> None:
    lane = f"lane{['make', 'use', 'tell'].index(node)}"
    tickets: list[Future[Any]] = []
    with (
        pytest.raises(LaneDied, match=f"lane `{lane}`") as raised,
        running(CHAIN, [lane], ends_itself, (node, 20, code)) as run,
    ):
        die(run, tickets)
    assert raised.value.exit_code == code
    check_outcomes(tickets, lane, code)
    assert isinstance(tickets[20].exception(timeout=0), LaneDied)


def kill_at_a_random_moment(seed: int) -> None:
    source = random.Random(seed)
    lanes = source.sample(LANES, source.randint(1, 2)) if seed % 4 == 0 else [source.choice(LANES)]
    victim = source.choice(lanes)
    tickets: list[Future[Any]] = []
    run = running(CHAIN, lanes, fail, Failing(delays=0.3), queue=source.randint(1, 6))
    with pytest.raises(LaneDied) as raised, run:
        pid = run._processes.lanes[victim]._process.pid  # type: ignore[union-attr]
        threading.Timer(source.random() * 0.03, os.kill, (pid, signal.SIGKILL)).start()
        die(run, tickets)
    assert raised.value.lane == victim
    check_outcomes(tickets, victim, -signal.SIGKILL)
    assert lanes_alive() == []
    assert children() == []


@pytest.mark.parametrize("seed", range(8))
def test_a_process_that_is_killed_at_a_random_moment(seed: int) -> None:
    kill_at_a_random_moment(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_a_process_that_is_killed_at_a_random_moment_again_and_again(seed: int) -> None:
    kill_at_a_random_moment(seed)


def test_a_process_that_is_killed_while_it_starts() -> None:
    run = running(CHAIN, ["lane1"], nothing)
    lane = run._processes.lanes["lane1"]  # type: ignore[union-attr]

    def kill() -> None:
        until(lambda: lane._process is not None and lane._process.pid is not None, "the process is there")
        os.kill(lane._process.pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    with pytest.raises(LaneDied, match="SIGKILL"), run:
        pytest.fail("the block must not run")


def test_a_process_that_is_killed_in_an_idle_run_is_noticed_at_once() -> None:
    with pytest.raises(LaneDied), running(CHAIN, ["lane1"], nothing) as run:
        run.submit(0).result(timeout=HANG_S)
        os.kill(run._processes.lanes["lane1"]._process.pid, signal.SIGKILL)  # type: ignore[union-attr]
        until(lambda: run._admission.closed, "the death is noticed")
        with pytest.raises(RuntimeStopped):
            run.submit(1)


# -- stuck, stopped, interrupted -----------------------------------------------------------------------------------


def test_a_stuck_process_is_reported_and_does_not_outlive_the_run() -> None:
    run = running(CHAIN, ["lane1"], slow, {"use": 600.0}, drain_timeout=0.2)
    with pytest.raises(Stuck) as raised, run:
        tickets = [run.submit(index) for index in range(3)]
        until(lambda: "lane lane1: `use` of step 0 is at work" in run.wait_graph(), "the node is at work")
    assert "`tell` of step 0 waits for `use` of step 0" in raised.value.waits
    assert all(isinstance(ticket.exception(timeout=0), RuntimeStopped) for ticket in tickets)
    assert children() == []


def test_a_step_in_a_process_is_drained_when_the_block_is_left() -> None:
    with running(CHAIN, ["lane0"], slow_first) as run:
        tickets = [run.submit(index) for index in range(3)]
    assert [ticket.result(timeout=0) for ticket in tickets] == [0, 1, 2]
    run.stop()


def test_a_fault_of_our_own_in_the_child_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run = running(CHAIN, ["lane1"], nothing)
    monkeypatch.setitem(run._parts.position, "use", 10**6)
    with pytest.raises(InternalError) as raised, run:
        die(run, [])
    assert isinstance(raised.value.__cause__, IndexError)


def test_a_failed_step_does_not_end_the_process() -> None:
    with running(CHAIN, ["lane1"], fail, Failing({1: "use"})) as run:
        found = [run.submit(index).exception(timeout=HANG_S) for index in range(3)]
    assert [isinstance(error, StepError) for error in found] == [False, True, False]


def test_time_does_not_pass_for_a_run_that_waits() -> None:
    """An idle run takes no processor time: nobody polls."""
    import psutil

    with running(CHAIN, ["lane1"], nothing) as run:
        run.submit(0).result(timeout=HANG_S)
        child = psutil.Process(run._processes.lanes["lane1"]._process.pid)  # type: ignore[union-attr]
        before = sum(child.cpu_times()[:2]), time.process_time()
        time.sleep(0.5)
        after = sum(child.cpu_times()[:2]), time.process_time()
    assert after[0] - before[0] < 0.1
    assert after[1] - before[1] < 0.1
