"""The queue on the CPU: work in order, errors at the next mark, and a clock that is the device's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graph.lanes.cpu_queue import CpuQueue
from tests.fakes import HANG_S, Gate, lanes_alive

pytestmark = pytest.mark.usefixtures("nothing_left")

MS = 1_000_000


@pytest.fixture
def queue() -> Iterator[CpuQueue]:
    made = CpuQueue("test")
    yield made
    made.close()


def test_work_is_done_in_order_and_a_mark_is_reached_behind_it(queue: CpuQueue) -> None:
    done: list[int] = []
    gate = Gate()
    queue.enqueue(gate.pass_through)
    for number in range(5):
        queue.enqueue(lambda number=number: done.append(number))
    mark = queue.mark()
    assert not mark.wait(0.01)
    gate.open()
    assert mark.wait(HANG_S)
    assert mark.wait(0)
    assert done == list(range(5))


def test_what_work_raises_is_raised_at_the_next_mark_alone(queue: CpuQueue) -> None:
    done: list[str] = []
    queue.enqueue(lambda: done.append("before"))
    first = queue.mark()
    queue.enqueue(lambda: [][0])
    queue.enqueue(lambda: done.append("left out"))
    second = queue.mark()
    queue.enqueue(lambda: done.append("after"))
    third = queue.mark()
    assert third.wait(HANG_S)
    assert first.wait(0)
    with pytest.raises(IndexError):
        second.wait(0)
    assert done == ["before", "after"]


def test_work_that_was_there_in_time_follows_without_a_gap(queue: CpuQueue) -> None:
    """By the queue's clock, however late its thread gets its turn."""
    marks = []
    for _ in range(4):
        queue.busy(0.01)
        marks.append(queue.mark())
    assert marks[-1].wait(HANG_S)
    intervals = [mark.interval() or (0, 0) for mark in marks]
    assert [end - start for start, end in intervals] == [10 * MS] * 4
    assert [one[1] for one in intervals[:-1]] == [one[0] for one in intervals[1:]]


def test_work_that_comes_late_leaves_the_queue_idle(queue: CpuQueue) -> None:
    queue.busy(0.002)
    first = queue.mark()
    assert first.wait(HANG_S)
    queue.busy(0.002)
    second = queue.mark()
    assert second.wait(HANG_S)
    assert (second.interval() or (0, 0))[0] > (first.interval() or (0, 0))[1]


def test_closing_drops_what_has_not_begun() -> None:
    made, gate, done = CpuQueue("test"), Gate(), list[int]()
    made.enqueue(gate.pass_through)
    made.enqueue(lambda: done.append(1))
    mark = made.mark()
    gate.wait()
    gate.open()
    made.close()
    made.close()
    assert (lanes_alive() == [], done == [] or mark.wait(0)) == (True, True)


def test_closing_cuts_a_long_stay_short() -> None:
    made = CpuQueue("test")
    made.busy(3600)
    made.close()
    assert lanes_alive() == []
