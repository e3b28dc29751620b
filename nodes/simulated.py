"""Nodes that only take time, so that a topology can be tried, timed and drilled without a model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from graph.lanes.queue import Queue
from graph.node import Context, Executor, Node, Ports, Step
from graph.topology import Topology


class SimulatedDevice:
    """A device that works for `milliseconds` per step and leaves the interpreter free meanwhile.

    On a `stream` lane the call only keeps the lane's queue busy for as long.
    """

    ports: Ports | None = None

    def __init__(self, milliseconds: float) -> None:
        self.seconds = milliseconds / 1000
        self.stream: Queue | None = None

    def start(self, context: Context) -> None:
        self.stream = context.stream

    def run(self, step: Step, slots: Any) -> int:
        del slots
        if self.stream is not None:
            self.stream.busy(self.seconds)
            return step.index
        if self.seconds > 0:
            time.sleep(self.seconds)
        step.device_time(round(self.seconds * 1e9))
        return step.index

    def stop(self) -> None:
        """Nothing to end."""


class SimulatedHost(SimulatedDevice):
    """Host work of `milliseconds` of processor time, holding the interpreter lock as Python code does.

    With `holds_lock` false it waits instead, as for a file or a socket.
    """

    def __init__(self, milliseconds: float, *, holds_lock: bool = True) -> None:
        super().__init__(milliseconds)
        self.holds_lock = holds_lock

    def run(self, step: Step, slots: Any) -> int:
        del slots
        if self.stream is None:
            self._work()
        else:
            self.stream.enqueue(self._work)
        return step.index

    def _work(self) -> None:
        if not self.holds_lock:
            time.sleep(self.seconds)
        elif self.seconds > 0:
            end = time.thread_time() + self.seconds
            while time.thread_time() < end:
                pass


def simulated(
    topology: Topology, costs: Mapping[str, float] | None = None, *, holds_lock: bool = True
) -> Executor:
    """An executor for any topology: each node takes its cost in ms, by default from the file's `costs`.

    Dispatches are simulated devices, the rest is host work; an emitting node's result is the step's index.
    Resources are plain objects. Any lane may be a process, or a stream.
    """
    durations = {**topology.costs, **(costs or {})}
    nodes: dict[str, Node] = {
        name: SimulatedDevice(durations.get(name, 0.0))
        if node.kind == "dispatch"
        else SimulatedHost(durations.get(name, 0.0), holds_lock=holds_lock)
        for name, node in topology.nodes.items()
    }
    resources = {name: object for name, kind in topology.types.items() if kind == "resource"}
    factory = partial(simulated, topology, durations, holds_lock=holds_lock)
    return Executor(nodes, frozenset(topology.requires), resources, factory=factory)
