"""What a stream lane asks of an accelerator queue: work in order, and marks that tell when it has completed.

Work that is put on a queue completes in the order in which it was put there. Whoever launches never waits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from graph.errors import BindError

Interval = tuple[int, int]
"""When the device began and ended, in nanoseconds on the scale of `time.perf_counter_ns`."""


class Mark(Protocol):
    """A point on a queue, behind all work that was put there before. Only the completion thread looks at it."""

    def wait(self, timeout: float) -> bool:
        """Whether the point is reached within `timeout` seconds.

        Raises what the work between the mark before and this one raised, and `DeviceLost` where the queue
        will reach no mark any more.
        """

    def interval(self) -> Interval | None:
        """By the device's own clock, the time of the work since the mark before; None where it has no clock.

        Asked for once, after `wait` has returned True or raised what the work raised, mark by mark in order.
        """


class Queue(Protocol):
    """One accelerator queue. Used by its lane's thread alone, except for the marks."""

    def launching(self) -> AbstractContextManager[object]:
        """What is launched inside goes on this queue. A node's `run` is called inside."""

    def enqueue(self, work: Callable[[], object]) -> None:
        """Put work on the queue: on a real queue `work` is called at once and launches, on the CPU it is called
        when its turn comes. It must look at neither `step` nor `slots`, which are those of a later call by
        then: give it tensors."""

    def busy(self, seconds: float) -> None:
        """Keep the queue busy for that long by its own clock."""

    def mark(self) -> Mark:
        """Record a mark behind all that is on the queue."""

    def close(self) -> bool:
        """Drop what has not begun where that can be done, and wait a bounded time for what has.

        False where that has not ended.
        """


MakeQueue = Callable[[str, str], Queue]
"""From a lane's name and the run's device to its queue; called on the lane's thread before its nodes start."""


def queue_maker(device: str) -> MakeQueue:
    """What makes the queues of a device; raises `BindError` where laneflow has none for it."""
    if device.startswith("cuda"):
        from graph.lanes.cuda_queue import CudaQueue

        return CudaQueue
    if device.startswith("cpu"):
        from graph.lanes.cpu_queue import CpuQueue

        return CpuQueue
    raise BindError(
        f"`worker: stream` has no queue for the device `{device}`: give the run `make_queue`, or override the "
        "lane's worker with thread"
    )
