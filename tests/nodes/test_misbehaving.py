"""Each fault of the misbehaving queue is the one that it says it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
