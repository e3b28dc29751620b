"""Three ways to keep a device busy with the same steps: when each of them ran, by the device's own clock.

The gap of a way that waits is measured too small: its steps begin, to the device, when the event in front of them is
reached, and on an idle device that is before the thread has launched the work. Its period over the device's step shows
all of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from benchmarks.figures import WARM_UP
from benchmarks.gpu_device import Device, Kernel, launch_and_wait
from benchmarks.peers import threads
from benchmarks.peers.laneflow import TOPOLOGY, Prepare, Reclaim
from benchmarks.work import Body, Work
from benchmarks.workloads import Workload, nothing, spin, stray
from graph import Context, Executor, Runtime, Step, compile, load
from graph.lanes.queue import Interval, Queue
from graph.measures import periods_over
from graph.spread import spread
from nodes import DispatchNode, ReleaseNode

SLOTS = 2


@dataclass(frozen=True)
class Load:
    """What is run: a workload's host work around a kernel."""

    workload: Workload
    device: Device
    kernel: Kernel
    steps: int

    @property
    def prepare(self) -> Body:
        return _spinning(self.workload.prepare_ms)

    @property
    def reclaim(self) -> Body:
        return _spinning(self.workload.reclaim_ms)


def _spinning(milliseconds: float) -> Body:
    return partial(spin, round(milliseconds * 1e6)) if milliseconds else nothing


@dataclass(frozen=True)
class Figures:
    """Of one run, in milliseconds."""

    period: float
    """From start to start of the device's steps, over as many as there are slots; median."""
    step: float
    """The device's own time for one; median."""
    gap: float
    """The device's idle time from one step to the next; median."""
    gap_p99: float
    ratio: float | None
    """The period over what the step takes where nothing holds the device up; None where it takes no time."""


class Launch(DispatchNode):
    """Puts the kernel on the lane's queue."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.queue: Queue

    def start(self, context: Context) -> None:
        assert context.stream is not None
        self.queue = context.stream

    def run(self, step: Step, slots: Any) -> None:
        self.kernel.launch(self.queue)


class LaunchAndWait(DispatchNode):
    """Puts the kernel on a queue of its own and waits for it."""

    def __init__(self, device: Device, kernel: Kernel) -> None:
        self.device, self.kernel = device, kernel
        self.queue: Queue
        self.intervals: list[Interval] = []

    def start(self, context: Context) -> None:
        self.queue = self.device.queue(context.node)

    def run(self, step: Step, slots: Any) -> None:
        self.intervals.append(launch_and_wait(self.device, self.queue, self.kernel))

    def stop(self) -> None:
        self.queue.close()


def stream_lane(load: Load) -> list[Interval]:
    """laneflow, stream lane, one ahead"""
    run = _laneflow(load, "stream", Launch(load.kernel))
    return [(span.start, span.end) for span in run.spans() if span.node == "dispatch"]


def thread_lane(load: Load) -> list[Interval]:
    """laneflow, thread lane that waits"""
    node = LaunchAndWait(load.device, load.kernel)
    _laneflow(load, "thread", node)
    return node.intervals


def by_hand(load: Load) -> list[Interval]:
    """hand-written threads that wait"""
    intervals: list[Interval] = []
    queue = load.device.queue("by-hand")

    def body() -> int:
        intervals.append(launch_and_wait(load.device, queue, load.kernel))
        return intervals[-1][1] - intervals[-1][0]

    try:
        threads.run(Work(load.prepare, body, load.reclaim, load.steps, SLOTS))
    finally:
        queue.close()
    return intervals


WAYS: dict[str, Callable[[Load], list[Interval]]] = {
    str(way.__doc__): way for way in (stream_lane, thread_lane, by_hand)
}
"""By title."""


def _laneflow(given: Load, worker: str, dispatch: DispatchNode) -> Runtime:
    topology = load(str(TOPOLOGY), [f"lanes.device.worker={worker}"])
    nodes = {
        "prepare": Prepare(given.prepare),
        "dispatch": dispatch,
        "reclaim": Reclaim(given.reclaim),
        "release": ReleaseNode(),
    }
    with Runtime(compile(topology), Executor(nodes), device=given.device.name) as run:
        for _ in run.map(range(given.steps)):
            pass
    return run


def measure(way: Callable[[Load], list[Interval]], load: Load) -> Figures:
    """One run."""
    with stray(load.workload.stray):
        intervals = way(load)
    return figures(intervals, load.kernel.milliseconds)


def figures(intervals: list[Interval], alone_ms: float) -> Figures:
    """Of at least ten steps, the first of which are left out; `alone_ms` is what a step takes."""
    kept = intervals[max(1, round(len(intervals) * WARM_UP)) :]
    gaps = spread([later[0] - earlier[1] for earlier, later in pairwise(kept)])
    assert gaps is not None
    starts = {number: began for number, (began, _) in enumerate(kept)}
    period = statistics.median(periods_over(starts, SLOTS)) / 1e6
    step = statistics.median(ended - began for began, ended in kept) / 1e6
    return Figures(period, step, gaps.median, gaps.p99, period / alone_ms if alone_ms else None)
