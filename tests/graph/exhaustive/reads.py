"""LF208 by walking: what of a slot's fields can have been written by the time that they are read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.graph.exhaustive.walk import Firing, Run, State


class Reads:
    """For each read that runs, the firings that ever start before it ends."""

    def __init__(self, run: Run, routes: list[frozenset[str]]) -> None:
        self.run = run
        self.routes = routes
        self.writers: dict[Firing, list[Firing]] = {}
        self.in_time: dict[Firing, set[Firing]] = {}

    def see(self, firing: Firing, state: State) -> None:
        if firing not in self.writers:
            nodes, step = self.run.topology.nodes, self.run.step(firing)
            steps = range(max(0, step - 2), step + 1) if nodes[firing.node].reads else ()
            others = (self.run.on(name, on) for name, node in nodes.items() if node.writes for on in steps)
            self.writers[firing] = [other for other in others if other != firing]
            self.in_time[firing] = set()
        for other in self.writers[firing]:
            lane, end = self.run.end(other)
            if state[lane] >= end - 1:
                self.in_time[firing].add(other)

    def unwritten(self) -> Iterator[tuple[str, str]]:
        """Buffer and node of the reads of step 0's slots that steps can take routes to leave unwritten."""
        topology = self.run.topology
        for firing, writers in self.in_time.items():
            for use in topology.nodes[firing.node].reads:
                if not topology.buffers[use.buffer].persistent and self.run.step(firing) == use.back:
                    for name in [use.field] if use.field else topology.fields(use.buffer):
                        if self._missed(firing, use.buffer, use.back, name, writers):
                            yield use.buffer, firing.node

    def _missed(self, firing: Firing, buffer: str, back: int, name: str, writers: set[Firing]) -> bool:
        tenure = self.run.step(firing) - back
        nodes = self.run.topology.nodes
        able = [
            (self.run.step(writer), writer.node)
            for writer in writers
            for use in nodes[writer.node].writes
            if (use.buffer, self.run.step(writer) - use.back) == (buffer, tenure)
            and use.field in (None, name)
        ]
        for taken in product(self.routes, repeat=back + 1):
            exists = any(buffer in nodes[node].acquires for node in taken[0])
            if (
                exists
                and firing.node in taken[back]
                and not any(node in taken[on - tenure] for on, node in able)
            ):
                return True
        return False
