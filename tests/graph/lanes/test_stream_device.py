"""A device that misbehaves: errors in their step's place, slots out of use until proved free, an end without a hang."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import random
from concurrent.futures import Future
from typing import Any

import pytest

from graph import RuntimeStopped, StepError, Stuck, Unfinished
from graph.errors import DeviceLost
from graph.lanes.thread import NEVER
from nodes.misbehaving import (
    FailsAtCompletion,
    FailsAtLaunch,
    Fault,
    Late,
    Lost,
    Never,
    OutOfOrder,
    misbehaving,
)
from tests.fakes import HANG_S, Gate, chain, until
from tests.graph.lanes.streaming import Streamed, streamed

pytestmark = pytest.mark.usefixtures("nothing_left")

PATIENT_S = 1.0
"""A time-out that no call of a test exceeds unless it is told to."""


def pingpong() -> Streamed:
    return streamed("pingpong", ["device"])


def outcomes(faults: dict[int, Fault], steps: int = 8, **options: Any) -> tuple[list[Any], Any]:
    """The error of each step of a run, or None, and the run."""
    options = {"completion_timeout": PATIENT_S, "checked": True, **options}
    resolved: list[int] = []
    with pingpong().run(make_queue=misbehaving(faults), **options) as run:
        tickets = [run.submit(index) for index in range(steps)]
        for index, ticket in enumerate(tickets):
            ticket.add_done_callback(lambda _, index=index: resolved.append(index))
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert sorted(resolved) == list(range(steps))
    assert run.held_slots() == []
    return found, run


def cause(error: Any, step: int) -> BaseException:
    assert isinstance(error, StepError)
    assert (error.node, error.step) == ("dispatch", step)
    return error.cause


def failed(found: list[Any]) -> list[int]:
    return [step for step, error in enumerate(found) if error is not None]


@pytest.mark.parametrize("at", [0, 3, 7], ids=["first", "middle", "last"])
def test_late_completion_is_only_slow(at: int) -> None:
    found, run = outcomes({at: Late(0.05)})
    assert found == [None] * 8
    assert run.quarantined == []


def test_completion_after_the_time_out_fails_the_step_and_its_slots_are_not_recycled() -> None:
    found, run = outcomes({2: Late(0.4)}, completion_timeout=0.1)
    assert isinstance(cause(found[2], 2), Unfinished)
    assert "not complete after 0.1 s" in str(found[2])
    assert found[:2] == [None, None]
    assert {("inputs", 0, 2), ("outputs", 0, 2)} <= set(run.quarantined)


@pytest.mark.parametrize("at", [0, 3, 7], ids=["first", "middle", "last"])
def test_no_completion_fails_the_step_and_its_slots_are_quarantined(at: int) -> None:
    found, run = outcomes({at: Never()})
    assert failed(found) == [at]
    assert isinstance(cause(found[at], at), Unfinished)
    assert sorted(run.quarantined) == [("inputs", at % 2, at), ("outputs", at % 2, at)]


def test_a_device_that_never_completes_anything_fails_every_step_in_order() -> None:
    found, run = outcomes({call: Never() for call in range(5)}, steps=5, completion_timeout=0.05)
    assert [type(cause(error, step)) for step, error in enumerate(found)] == [Unfinished] * 5
    assert len(run.quarantined) == 10


def test_no_completion_without_a_time_out_is_a_stuck_run_that_says_where() -> None:
    tickets: list[Future[Any]] = []
    with (
        pytest.raises(Stuck, match=r"lane device: `dispatch` of step 1 is at work"),
        pingpong().run(make_queue=misbehaving({1: Never()}), drain_timeout=0.3) as run,
    ):
        tickets.extend(run.submit(index) for index in range(4))
    assert tickets[0].result(timeout=0) == 0
    assert all(isinstance(ticket.exception(timeout=0), RuntimeStopped) for ticket in tickets[1:])


def test_completion_out_of_order_is_told_in_order() -> None:
    found, run = outcomes({call: OutOfOrder() for call in (0, 2, 5)})
    assert found == [None] * 8
    assert run.quarantined == []


@pytest.mark.parametrize("at", [0, 3, 7], ids=["first", "middle", "last"])
@pytest.mark.parametrize("kind", [FailsAtLaunch, FailsAtCompletion])
def test_an_error_takes_its_steps_place(kind: Any, at: int) -> None:
    error = ValueError("told")
    found, run = outcomes({at: kind(error)})
    assert failed(found) == [at]
    assert cause(found[at], at) is error
    assert run.quarantined == []


@pytest.mark.parametrize("at", [0, 2, 5])
def test_a_lost_context_fails_the_steps_in_flight_in_order_and_ends_the_run(at: int) -> None:
    tickets: list[Future[Any]] = []
    resolved: list[int] = []
    with (
        pytest.raises(DeviceLost, match="the context is lost"),
        pingpong().run(make_queue=misbehaving({at: Lost()}), checked=True) as run,
    ):
        with pytest.raises(RuntimeStopped):
            while True:
                tickets.append(run.submit(len(tickets)))
                index = len(tickets) - 1
                tickets[-1].add_done_callback(lambda _, index=index: resolved.append(index))
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert found[:at] == [None] * at
    assert isinstance(cause(found[at], at), DeviceLost)
    for step in range(at + 1, len(found)):
        if not isinstance(found[step], RuntimeStopped):  # it had not begun
            assert isinstance(cause(found[step], step), DeviceLost)
    kinds = [type(error).__name__ for error in found]
    assert kinds == sorted(kinds, key=["NoneType", "StepError", "RuntimeStopped"].index)
    assert {("inputs", at % 2, at), ("outputs", at % 2, at)} <= set(run.quarantined)
    assert run.held_slots() == []
    assert sorted(resolved) == list(range(len(tickets)))


def test_steps_that_do_not_need_the_lost_device_come_to_their_end() -> None:
    """`b` of step 0 is still at work when the device is lost in step 1."""
    import threading

    lost = threading.Event()

    def behave(node: str, index: Any, tensors: Any) -> None:
        if node == "b":
            assert lost.wait(HANG_S)

    probes = streamed(chain(["a"], ["b"]), ["lane0"], behave)
    with pytest.raises(DeviceLost), probes.run(make_queue=misbehaving({1: Lost()}), queue=3) as run:
        tickets = [run.submit(index) for index in range(2)]
        until(lambda: run._admission.closed, "the loss is known")
        lost.set()
        assert tickets[0].result(timeout=HANG_S) == 0
        assert isinstance(tickets[1].exception(timeout=HANG_S), StepError)


def test_once_the_device_is_lost_no_node_works_on_a_step_that_has_yet_to_come_to_it() -> None:
    """Step 1 is in `prepare` by then, step 2 has not begun."""
    gate = Gate()

    def behave(node: str, index: Any, tensors: Any) -> None:
        if (node, getattr(index, "index", index)) == ("prepare", 1):
            gate.pass_through()

    probes = streamed("pingpong", ["device"], behave)
    with (
        pytest.raises(DeviceLost),
        probes.run(make_queue=misbehaving({0: Lost()}), queue=3) as run,
    ):
        tickets = [run.submit(0), run.submit(1), run.submit(2)]
        gate.wait()
        until(lambda: run._shared.last_turn < NEVER, "the loss is known to the run")
        gate.open()
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert isinstance(cause(found[0], 0), DeviceLost)
    assert isinstance(cause(found[1], 1), DeviceLost)
    assert isinstance(found[2], RuntimeStopped)
    assert {node for node, step in probes.calls() if step == 1} == {"prepare", "release"}
    assert {node for node, step in probes.calls() if step == 2} <= {"release"}


def test_a_context_that_is_found_lost_at_launch() -> None:
    found: list[Any] = []
    with (
        pytest.raises(DeviceLost, match="gone"),
        pingpong().run(make_queue=misbehaving({1: FailsAtLaunch(DeviceLost("gone"))})) as run,
    ):
        tickets = [run.submit(index) for index in range(2)]
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert found[0] is None
    assert isinstance(cause(found[1], 1), DeviceLost)


@pytest.mark.parametrize("seed", range(6))
def test_faults_at_random(hectic: None, seed: int) -> None:
    print("seed", seed)
    source = random.Random(seed)
    faults: dict[int, Fault] = {}
    calls = source.sample(
        range(0, 38, 2), 13
    )  # none next to another: what is overtaken needs a mark behind it
    for call in calls:
        faults[call] = source.choice([Late(0.005), OutOfOrder(), FailsAtLaunch(), FailsAtCompletion()])
    faults[calls[0]] = Never()
    found, run = outcomes(faults, steps=40, switch_interval_ms=None)
    wrong = {
        call for call, fault in faults.items() if isinstance(fault, FailsAtLaunch | FailsAtCompletion | Never)
    }
    assert failed(found) == sorted(wrong)
    for step in wrong:
        assert isinstance(cause(found[step], step), Unfinished) == isinstance(faults[step], Never)
    assert sorted(run.quarantined) == [(name, calls[0] % 2, calls[0]) for name in ("inputs", "outputs")]
