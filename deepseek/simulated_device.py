"""A device of a known speed, for drills and figures: steps take the time they would on it, the interpreter free."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

from graph.lanes.queue import Queue
from graph.node import Context, Executor, Node, Step

DECODE, PREFILL = "dispatch", "prefill"


class Paced:
    """A node of the device lane whose steps take `seconds` at least, as by the device's own clock.

    A queue on the CPU is kept busy for what the step leaves of them; a CUDA queue for so long behind the step.
    """

    def __init__(self, node: Node, seconds: float) -> None:
        self.node, self.seconds = node, seconds
        self.ports, self.kind = node.ports, getattr(node, "kind", None)
        self._queue: Queue | None = None

    def start(self, context: Context) -> None:
        self._queue, self._on_cpu = context.stream, context.device.startswith("cpu")
        self.node.start(context)

    def run(self, step: Step, slots: Any) -> Any:
        if self._queue is not None:
            return self._launch(self._queue, step, slots)
        pace = _Pace(self.seconds)
        pace.begin()
        result = self.node.run(step, slots)
        if pace.wait():
            step.device_time(int(self.seconds * 1e9))
        return result

    def _launch(self, queue: Queue, step: Step, slots: Any) -> Any:
        if not self._on_cpu:
            result = self.node.run(step, slots)
            queue.busy(self.seconds)
            return result
        pace = _Pace(self.seconds)
        queue.enqueue(pace.begin)
        result = self.node.run(step, slots)
        queue.enqueue(pace.wait)
        return result

    def stop(self) -> None:
        self.node.stop()


class _Pace:
    """The pace of one step; used by whoever does the step's work."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, 0.0

    def begin(self) -> None:
        self._end = time.perf_counter() + self._seconds

    def wait(self) -> bool:
        """Wait for what is left of the step's time; whether anything was."""
        left = self._end - time.perf_counter()
        if left > 0:
            time.sleep(left)
        return left > 0


def paced(pipeline: Executor, milliseconds: float) -> Executor:
    """The executor with decode and prefill steps that take `milliseconds` at least."""
    seconds = milliseconds / 1e3
    nodes = dict(pipeline.nodes)
    for name in (DECODE, PREFILL):
        nodes[name] = Paced(nodes[name], seconds)
    factory = pipeline.factory
    if callable(factory):
        factory = partial(_paced, factory, milliseconds)
    return replace(pipeline, nodes=nodes, factory=factory)


def _paced(factory: Any, milliseconds: float) -> Executor:
    return paced(factory(), milliseconds)
