"""Runs on a chip: results in order, and of a chip that misbehaves no stream is used again that is not proved free."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import random
import threading
from contextlib import closing
from typing import Any

import pytest

from graph import LifecycleError, RuntimeStopped, StepError, Unfinished
from graph.errors import DeviceLost, ResourceLost
from nodes.chip_run.simulated import SimulatedStream
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
from tests.fakes import HANG_S
from tests.nodes.chip_run.driving import (
    IN_THE_RUN,
    OVER,
    BookedChip,
    balanced,
    double,
    expected,
    outcome,
    run_of,
    start,
    values,
)

pytestmark = pytest.mark.usefixtures("nothing_left")

STEPS = 8
PATIENT_S = 0.5
"""A time-out that no run of a test exceeds unless it is told to."""


def drive(
    chip: BookedChip, faults: dict[int, Fault], steps: int = STEPS, **options: Any
) -> tuple[list[Any], Any]:
    """Each step's value or error, and the run, whose counts balanced before its end and after."""
    options = {"completion_timeout": PATIENT_S, "make_queue": misbehaving(faults), **options}
    resolved: list[int] = []
    with start(chip, **options) as run:
        tickets = [run.submit(run_of(step)) for step in range(steps)]
        for step, ticket in enumerate(tickets):
            ticket.add_done_callback(lambda _, step=step: resolved.append(step))
        found = [outcome(ticket) for ticket in tickets]
        assert balanced(run.resources(), live=IN_THE_RUN)
        assert run.held_slots() == []
    assert balanced(run.resources(), live=OVER)
    assert sorted(chip.closed_streams) == list(range(chip.streams_made))
    assert sorted(resolved) == list(range(steps))
    return found, run


def cause(error: Any, node: str, step: int) -> BaseException:
    assert isinstance(error, StepError)
    assert (error.node, error.step) == (node, step)
    return error.cause


def quarantined(run: Any) -> list[tuple[str, int, int]]:
    return sorted(run.quarantined)


def all_slots(step: int) -> list[tuple[str, int, int]]:
    """Those of a step whose run is not proved complete."""
    return [(buffer, step % 2, step) for buffer in ("arguments", "results", "streams")]


def test_results_are_right_and_in_order() -> None:
    with closing(BookedChip(0.001)) as chip:
        found, run = drive(chip, {}, steps=30)
    assert found == expected(30)
    assert chip.launched == [0, 1] * 15
    assert chip.executors_made == 1
    assert (chip.streams_made, run.quarantined) == (2, [])


@pytest.mark.parametrize("fault", [Late(0.03), OutOfOrder()], ids=["late", "out of order"])
@pytest.mark.parametrize("at", [0, 3, 6])
def test_a_completion_that_comes_late_or_out_of_order_is_an_ordinary_one(fault: Fault, at: int) -> None:
    with closing(BookedChip()) as chip:
        found, run = drive(chip, {at: fault})
    assert found == expected(STEPS)
    assert (chip.streams_made, run.quarantined) == (2, [])


@pytest.mark.parametrize("at", [0, 3, 7])
@pytest.mark.parametrize("kind", [FailsAtLaunch, FailsAtCompletion])
def test_an_error_takes_its_steps_place_and_its_stream_is_used_again(kind: Any, at: int) -> None:
    error = ValueError("told")
    with closing(BookedChip()) as chip:
        found, run = drive(chip, {at: kind(error)})
    assert values(found) == expected(STEPS, [at])
    assert cause(found[at], "execute", at) is error
    assert (chip.streams_made, run.quarantined) == (2, [])


@pytest.mark.parametrize("at", [0, 7])
def test_a_run_that_never_completes_takes_its_stream_along_and_another_is_made(at: int) -> None:
    with closing(BookedChip()) as chip:
        found, run = drive(chip, {at: Never()})
    assert values(found) == expected(STEPS, [at])
    assert isinstance(cause(found[at], "execute", at), Unfinished)
    assert quarantined(run) == all_slots(at)
    lost = at % 2
    assert chip.closed_streams[0] == lost
    after = [2 if step % 2 == lost else step % 2 for step in range(at + 1, STEPS)]
    assert chip.launched[at + 1 :] == after


def test_a_run_that_completes_after_the_time_out_is_not_believed() -> None:
    with closing(BookedChip()) as chip:
        found, run = drive(chip, {2: Late(0.3)}, completion_timeout=0.1)
        assert isinstance(cause(found[2], "execute", 2), Unfinished)
        assert set(all_slots(2)) <= set(run.quarantined)
        assert found[:2] == expected(2)
        assert chip.closed_streams[0] == 0
        assert 0 not in chip.launched[3:]


def test_a_chip_that_never_completes_a_run_uses_up_a_stream_with_each() -> None:
    with closing(BookedChip()) as chip:
        found, run = drive(chip, {call: Never() for call in range(5)}, steps=5, completion_timeout=0.03)
    assert [type(cause(error, "execute", step)) for step, error in enumerate(found)] == [Unfinished] * 5
    assert run.resources()["streams"]._asdict() == {"made": 7, "retired": 7, "rebuilt": 5, "live": 0}
    assert chip.launched == [0, 1, 2, 3, 4]


def test_a_program_that_hangs_is_not_waited_for() -> None:
    """Nothing behind it on the chip completes either; each run gets a stream of its own, and none twice."""
    free = threading.Event()

    def hang(arguments: Any, results: Any) -> None:
        assert free.wait(HANG_S)

    with closing(BookedChip()) as chip:
        with start(chip, completion_timeout=0.05) as run:
            tickets = [run.submit(run_of(step, hang if step == 1 else double)) for step in range(4)]
            found = [outcome(ticket) for ticket in tickets]
            assert balanced(run.resources(), live=IN_THE_RUN)
            free.set()
        assert balanced(run.resources(), live=OVER)
    assert values(found) == [2.0, None, None, None]
    assert [type(cause(error, "execute", step + 1)) for step, error in enumerate(found[1:])] == [
        Unfinished
    ] * 3
    assert chip.launched == [0, 1, 0, 2]


@pytest.mark.parametrize("at", [0, 3])
def test_a_lost_device_ends_the_run_and_its_streams_are_destroyed(at: int) -> None:
    tickets: list[Any] = []
    with closing(BookedChip()) as chip:
        with (
            pytest.raises(DeviceLost, match="the context is lost"),
            start(chip, make_queue=misbehaving({at: Lost()})) as run,
        ):
            with pytest.raises(RuntimeStopped):
                while True:
                    tickets.append(run.submit(run_of(len(tickets))))
            found = [outcome(ticket) for ticket in tickets]
        assert balanced(run.resources(), live=OVER)
    assert found[:at] == expected(at)
    assert isinstance(cause(found[at], "execute", at), DeviceLost)
    kinds = [type(error).__name__ for error in found]
    assert kinds == sorted(kinds, key=["float", "StepError", "RuntimeStopped"].index)
    assert set(all_slots(at)) <= set(run.quarantined)
    assert run.held_slots() == []
    assert sorted(chip.closed_streams) == list(range(chip.streams_made))


class Exhausted(BookedChip):
    """Makes no stream while `broken` counts down."""

    broken = 0

    def stream(self) -> SimulatedStream:
        if self.streams_made >= 2 and self.broken:
            self.broken -= 1
            raise MemoryError("no stream left")
        return super().stream()


def test_where_no_stream_can_be_made_the_slots_next_steps_fail_until_one_can() -> None:
    with closing(Exhausted()) as chip:
        chip.broken = 2
        with start(chip, make_queue=misbehaving({1: Never()}), completion_timeout=PATIENT_S) as run:
            found = [outcome(run.submit(run_of(step))) for step in range(8)]
            assert balanced(run.resources(), live=IN_THE_RUN)
        assert balanced(run.resources(), live=OVER)
    assert values(found) == expected(8, [1, 3, 5])
    for step in (3, 5):
        lost = cause(found[step], "bind", step)
        assert isinstance(lost, ResourceLost)
        assert "no stream left" in str(lost)
    assert chip.launched == [0, 1, 0, 0, 0, 2]
    assert run.resources()["streams"]._asdict() == {"made": 3, "retired": 3, "rebuilt": 1, "live": 0}


def test_a_run_ends_in_balance_though_no_stream_could_be_made_again() -> None:
    with closing(Exhausted()) as chip:
        chip.broken = 100
        with start(chip, make_queue=misbehaving({1: Never()}), completion_timeout=PATIENT_S) as run:
            found = [outcome(run.submit(run_of(step))) for step in range(6)]
    assert values(found) == expected(6, [1, 3, 5])
    assert run.resources()["streams"]._asdict() == {"made": 2, "retired": 2, "rebuilt": 0, "live": 0}


class Unclosable(BookedChip):
    """Its first stream is destroyed with an error."""

    def closed(self, part: Any) -> None:
        super().closed(part)
        if isinstance(part, SimulatedStream) and part.number == 0:
            raise OSError("the driver says no")


@pytest.mark.parametrize("faults", [{0: Never()}, {}], ids=["in the run", "at its end"])
def test_a_stream_that_does_not_close_is_told_at_the_end_and_is_gone(faults: dict[int, Fault]) -> None:
    with (
        closing(Unclosable()) as chip,
        pytest.raises(LifecycleError, match=r"streams.*the driver says no"),
        start(chip, make_queue=misbehaving(faults), completion_timeout=PATIENT_S) as run,
    ):
        found = [outcome(run.submit(run_of(step))) for step in range(6)]
    assert values(found) == expected(6, list(faults))
    assert balanced(run.resources(), live=OVER)
    assert sorted(chip.closed_streams) == list(range(chip.streams_made))
    assert chip.launched.count(0) == (1 if faults else 3)


class Stubborn(BookedChip):
    """A driver that cannot make its first stream ready again."""

    def stream(self) -> SimulatedStream:
        made = super().stream()
        if made.number == 0:

            def replenish() -> None:
                raise OSError("no doorbell")

            made.replenish = replenish  # type: ignore[method-assign]
        return made


def test_a_stream_that_cannot_be_made_ready_again_is_replaced_and_its_step_fails() -> None:
    with closing(Stubborn()) as chip:
        found, run = drive(chip, {}, steps=6)
    assert values(found) == expected(6, [0])
    assert "no doorbell" in str(cause(found[0], "retire", 0))
    assert run.quarantined == [("streams", 0, 0)]
    assert 0 not in chip.launched[1:]


def test_what_a_program_raises_is_the_steps_error() -> None:
    def divide(arguments: Any, results: Any) -> None:
        raise ZeroDivisionError

    with closing(BookedChip()) as chip, start(chip) as run:
        tickets = [run.submit(run_of(step, divide if step == 2 else double)) for step in range(5)]
        found = [outcome(ticket) for ticket in tickets]
    assert values(found) == expected(5, [2])
    assert isinstance(cause(found[2], "execute", 2), ZeroDivisionError)
    assert chip.streams_made == 2


@pytest.mark.parametrize("seed", range(2))
def test_faults_at_random(hectic: None, seed: int) -> None:
    print("seed", seed)
    source = random.Random(seed)
    calls = source.sample(
        range(0, 38, 2), 12
    )  # none next to another: what is overtaken needs a mark behind it
    faults: dict[int, Fault] = {
        call: source.choice([Late(0.003), OutOfOrder(), FailsAtLaunch(), FailsAtCompletion()])
        for call in calls
    }
    faults[calls[0]] = Never()
    with closing(BookedChip()) as chip:
        found, run = drive(chip, faults, steps=40, switch_interval_ms=None, queue=40)
    wrong = [
        call for call, fault in faults.items() if isinstance(fault, FailsAtLaunch | FailsAtCompletion | Never)
    ]
    assert values(found) == expected(40, wrong)
    assert quarantined(run) == all_slots(calls[0])
    assert run.resources()["streams"].rebuilt == 1
