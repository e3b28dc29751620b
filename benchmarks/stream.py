"""What launching ahead takes out of the gap: one device, launched one step ahead or only after completion.

The device is the CPU's stand-in for an accelerator queue, busy for 45 ms a step by its own clock, in both cases. In
the first it is a `stream` lane; in the second the same queue is behind a lane on a thread, whose call puts the
work on the queue and waits for its mark, so that the next is launched only after completion: with laneflow's switch
interval, and with that of the interpreter, which it leaves alone then. Beside them a stray thread runs pure Python, or
none does. The gap is the device's own: from the end of a step's work to the start of
the next. Rounds are interleaved, so that a disturbance of the machine falls on all; the table has the medians
over rounds of each round's median and largest gap.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from graph import Context, Executor, Runtime, Step, compile, load
from graph.interpreter import SWITCH_INTERVAL_MS
from graph.lanes.cpu_queue import CpuQueue
from graph.trace import Span
from nodes import DispatchNode
from nodes.simulated import simulated

AHEAD, AFTER = "launched one step ahead", "launched after completion"
UNTOUCHED = "launched after completion, switch interval of the interpreter"


class Gaps(NamedTuple):
    """Of one run, in milliseconds."""

    median: float
    largest: float


class Blocking(DispatchNode):
    """Launches on a queue of its own and waits until that has completed."""

    def __init__(self, milliseconds: float) -> None:
        self._seconds = milliseconds / 1000
        self._queue: CpuQueue
        self.intervals: list[tuple[int, int]] = []

    def start(self, context: Context) -> None:
        self._queue = CpuQueue(context.node)

    def run(self, step: Step, slots: Any) -> int:
        del slots
        self._queue.busy(self._seconds)
        mark = self._queue.mark()
        while not mark.wait(1.0):
            continue
        interval = mark.interval()
        assert interval is not None
        self.intervals.append(interval)
        return step.index

    def stop(self) -> None:
        self._queue.close()


def measure(way: str, steps: int, milliseconds: float, stray: bool) -> Gaps:
    worker = "stream" if way == AHEAD else "thread"
    topology = load("pingpong", [f"costs.dispatch={milliseconds:g}", f"lanes.device.worker={worker}"])
    executor: Executor = simulated(topology)
    blocking = Blocking(milliseconds)
    if way != AHEAD:
        executor = replace(executor, nodes={**executor.nodes, "dispatch": blocking})
    interval = None if way == UNTOUCHED else SWITCH_INTERVAL_MS
    runtime = Runtime(compile(topology), executor, switch_interval_ms=interval)
    with pure_python() if stray else nullcontext(), runtime as run:
        for _ in run.map(range(steps)):
            pass
    launched = [(one.start, one.end) for one in dispatches(run.spans())]
    intervals = launched if way == AHEAD else blocking.intervals
    gaps = [(later[0] - earlier[1]) / 1e6 for earlier, later in pairwise(intervals)]
    return Gaps(statistics.median(gaps), max(gaps))


def dispatches(spans: Sequence[Span]) -> list[Span]:
    return [span for span in spans if span.node == "dispatch"]


@contextmanager
def pure_python() -> Iterator[None]:
    """A thread that never lets go of the interpreter by itself."""
    over = threading.Event()

    def spin() -> None:
        count = 0
        while not over.is_set():
            for _ in range(1000):
                count += 1

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def table(rounds: dict[tuple[str, bool], list[Gaps]], milliseconds: float) -> str:
    """The figures as a table in Markdown."""
    lines = [
        f"| {milliseconds:g} ms device step | stray thread | gap, median, ms | gap, largest, ms |",
        "|---|---|---|---|",
    ]
    for (way, stray), found in rounds.items():
        median = statistics.median(one.median for one in found)
        largest = statistics.median(one.largest for one in found)
        lines.append(f"| {way} | {'pure Python' if stray else 'none'} | {median:.3f} | {largest:.3f} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--milliseconds", type=float, default=45.0)
    args = parser.parse_args(argv)
    rounds: dict[tuple[str, bool], list[Gaps]] = {
        (way, stray): [] for stray in (False, True) for way in (AHEAD, AFTER, UNTOUCHED)
    }
    for _ in range(args.rounds):
        for way, stray in rounds:
            rounds[way, stray].append(measure(way, args.steps, args.milliseconds, stray))
    load_now = os.getloadavg()[0]
    print(f"{args.rounds} rounds of {args.steps} steps, load {load_now:.2f} on {os.cpu_count()} processors\n")
    print(table(rounds, args.milliseconds))


if __name__ == "__main__":
    main()
