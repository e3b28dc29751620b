"""Nodes under watch: each call is logged when it starts and ends, on a stream lane when the queue is at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from graph import Context, Executor, Node
from graph.lanes.queue import Queue
from tests.fakes import Event

Moment = Callable[[str, int], None]
"""Called with a node and the turn of its step."""


def pass_by(node: str, turn: int) -> None:
    """Nothing happens at that moment."""


class Watched:
    """A node whose calls are logged. `before` is called ahead of the start, and ahead of a launch; `during` between
    the start and the node's work. Both may wait."""

    def __init__(self, name: str, inner: Node, log: list[Event], before: Moment, during: Moment) -> None:
        self.name, self.inner, self.log = name, inner, log
        self.before, self.during = before, during
        self.ports = inner.ports
        self.queue: Queue | None = None

    def start(self, context: Context) -> None:
        self.queue = context.stream
        self.inner.start(context)

    def run(self, step: Any, slots: Any) -> Any:
        index, turn = step.index, step._record.turn
        self.before(self.name, turn)
        self._do(lambda: self._begin(turn, index))
        try:
            return self.inner.run(step, slots)
        finally:
            self._do(lambda: self.log.append(Event(self.name, turn, index, "end")))

    def stop(self) -> None:
        self.inner.stop()

    def _do(self, work: Callable[[], None]) -> None:
        """Now, or when the lane's queue comes to it."""
        work() if self.queue is None else self.queue.enqueue(work)

    def _begin(self, turn: int, index: int) -> None:
        self.log.append(Event(self.name, turn, index, "start"))
        self.during(self.name, turn)


def watched(
    executor: Executor, log: list[Event], before: Moment = pass_by, during: Moment = pass_by
) -> Executor:
    """The executor with all its nodes under watch."""
    nodes: Mapping[str, Node] = {
        name: Watched(name, node, log, before, during) for name, node in executor.nodes.items()
    }
    return replace(executor, nodes=nodes)
