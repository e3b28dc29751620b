"""laneflow, device lane on a stream

The CPU's queue: a thread that makes each call as soon as the one before has returned, since it was put there ahead.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.peers.laneflow import Prepare, Reclaim, calls_of, topology
from benchmarks.work import Body, Call, Calls, Work, timed
from graph import Context, Executor, Runtime, Step, compile
from graph.lanes.queue import Queue
from nodes import DispatchNode, ReleaseNode


class Device(DispatchNode):
    """`calls` has when each call was made, which the queue's clock does not tell."""

    def __init__(self, body: Body) -> None:
        self.calls: list[Call] = []
        self._call = partial(timed, body, self.calls)
        self._queue: Queue

    def start(self, context: Context) -> None:
        assert context.stream is not None
        self._queue = context.stream

    def run(self, step: Step, slots: Any) -> None:
        self._queue.enqueue(self._call)


def run(work: Work) -> Calls:
    device = Device(work.device)
    nodes = {
        "prepare": Prepare(work.prepare),
        "dispatch": device,
        "reclaim": Reclaim(work.reclaim),
        "release": ReleaseNode(),
    }
    source = topology(work, ["lanes.device.worker=stream"])
    with Runtime(compile(source), Executor(nodes), queue=work.steps) as running:
        for step in range(work.steps):
            running.submit(step)
    calls = calls_of(running.spans())
    calls.device = device.calls
    return calls
