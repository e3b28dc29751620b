"""A device of a known speed, for drills and figures: steps take the time they would on it, the interpreter free."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

from graph.node import Context, Executor, Node, Step

DECODE, PREFILL = "dispatch", "prefill"


class Paced:
    """A node of the device lane whose steps take `seconds` at least, as by the device's own clock."""

    def __init__(self, node: Node, seconds: float) -> None:
        self.node, self.seconds = node, seconds
        self.ports, self.kind = node.ports, getattr(node, "kind", None)

    def start(self, context: Context) -> None:
        self.node.start(context)

    def run(self, step: Step, slots: Any) -> Any:
        end = time.perf_counter() + self.seconds
        result = self.node.run(step, slots)
        left = end - time.perf_counter()
        if left > 0:
            time.sleep(left)
            step.device_time(int(self.seconds * 1e9))
        return result

    def stop(self) -> None:
        self.node.stop()


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
