"""Each fault of the misbehaving queue is the one that it says it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest

from graph.errors import DeviceLost
from graph.lanes.queue import Mark, Queue
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


@pytest.fixture
def opened() -> Iterator[list[Queue]]:
    queues: list[Queue] = []
    yield queues
    for queue in queues:
        queue.close()


def marks(
    opened: list[Queue], faults: Mapping[int, Fault], calls: int = 3, lane: str = "device"
) -> list[Mark]:
    queue = misbehaving(faults, "device")(lane, "cpu")
    opened.append(queue)
    found = []
    for _ in range(calls):
        with queue.launching():
            queue.busy(0)
        found.append(queue.mark())
    return found


def test_late_keeps_the_queue_busy(opened: list[Queue]) -> None:
    first, second, _ = marks(opened, {1: Late(0.02)})
    assert second.wait(HANG_S)
    assert first.wait(0)
    start, end = second.interval() or (0, 0)
    assert end - start >= 20_000_000


def test_never_is_not_reached_and_those_behind_it_are(opened: list[Queue]) -> None:
    first, second, third = marks(opened, {1: Never()})
    assert third.wait(HANG_S)
    assert first.wait(0)
    assert not second.wait(0.01)


def test_out_of_order_is_reached_behind_the_next(opened: list[Queue]) -> None:
    queue_faults: dict[int, Fault] = {0: OutOfOrder()}
    first, second = marks(opened, queue_faults, calls=2)
    assert first.wait(HANG_S)
    assert second.wait(0)
    (alone,) = marks(opened, queue_faults, calls=1)
    assert not alone.wait(0.01)


@pytest.mark.parametrize("fault", [OutOfOrder(), Never()])
def test_a_call_that_is_told_late_or_never_keeps_its_own_error(opened: list[Queue], fault: Fault) -> None:
    """The next call used to get it, and the held one was taken for a success."""
    queue = misbehaving({1: fault})("device", "cpu")
    opened.append(queue)
    done: list[int] = []

    def work(call: int) -> None:
        if call == 1:
            raise ValueError("mine")
        done.append(call)

    found = []
    for call in range(3):
        with queue.launching():
            queue.enqueue(partial(work, call))
        found.append(queue.mark())
    assert found[2].wait(HANG_S)
    assert found[0].wait(0)
    assert done == [0, 2]
    if isinstance(fault, OutOfOrder):
        with pytest.raises(ValueError, match="mine"):
            found[1].wait(HANG_S)


@pytest.mark.parametrize("call", [-1, "2", 1.0, True])
def test_what_is_no_number_of_a_call_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="calls are numbered from 0"):
        misbehaving({call: Never()})


def test_an_error_at_launch(opened: list[Queue]) -> None:
    with pytest.raises(ValueError, match="no"):
        marks(opened, {1: FailsAtLaunch(ValueError("no"))})


def test_an_error_at_completion(opened: list[Queue]) -> None:
    first, second, third = marks(opened, {1: FailsAtCompletion(ValueError("no"))})
    assert third.wait(HANG_S)
    assert first.wait(0)
    with pytest.raises(ValueError, match="no"):
        second.wait(0)


def test_a_lost_context_fails_all_behind_it_and_every_launch(opened: list[Queue]) -> None:
    first, second = marks(opened, {1: Lost()}, calls=2)
    with pytest.raises(DeviceLost):
        second.wait(HANG_S)
    assert first.wait(0)
    with pytest.raises(DeviceLost), opened[0].launching():
        pytest.fail("nothing can be launched")
    with pytest.raises(DeviceLost):
        opened[0].mark().wait(HANG_S)


def test_the_queues_of_other_lanes_behave(opened: list[Queue]) -> None:
    assert all(mark.wait(HANG_S) for mark in marks(opened, {0: Never(), 1: Lost()}, lane="copy"))
