"""A node that is made when its lane starts, so that a model is loaded only in the process that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graph.node import Context, Node, Step
from nodes.kinds import KindNode


class Deferred:
    """Stands for a node of the class `like`, which has its kind and ports, until `make` makes it at start."""

    def __init__(self, like: type[KindNode], make: Callable[[], Node]) -> None:
        self.kind, self.ports = like.kind, like.ports
        self._make = make
        self._node: Node | None = None

    def start(self, context: Context) -> None:
        self._node = self._make()
        self._node.start(context)

    def run(self, step: Step, slots: Any) -> Any:
        assert self._node is not None, "a lane starts its nodes before it runs them"
        return self._node.run(step, slots)

    def stop(self) -> None:
        if self._node is not None:
            self._node.stop()
