"""Random small topologies, sound and faulty alike, from a seed."""

from __future__ import annotations

import random
from typing import Any

from graph.topology import Topology

FIELDS = ("a", "b")


def random_topology(seed: int) -> Topology:
    """Up to six nodes on up to three lanes, with lags, routes, `@n`, slots, shared state and a limit."""
    return _Maker(random.Random(seed)).topology()


class _Maker:
    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.tidy = source.random() < 0.6
        """Whether to lean towards what people mean: waits that follow the uses, releases at the end."""
        self.names = [f"n{index}" for index in range(source.choice((1, 2, 3, 3, 4, 4, 5, 5, 6, 6)))]
        self.nodes: dict[str, dict[str, Any]] = {
            name: {"kind": "dispatch", "acquires": [], "releases": [], "reads": [], "writes": []}
            for name in self.names
        }
        self.buffers: dict[str, dict[str, Any]] = {}
        self.edges: dict[str, dict[str, Any]] = {}

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def topology(self) -> Topology:
        for index in range(self.random.randint(0, 2)):
            self._slots(f"s{index}")
        for index in range(self.random.choice((0, 0, 1, 1, 2))):
            self._persistent(f"p{index}")
        self._edges()
        if self.chance(0.4):
            for name in self.random.sample(self.names, min(2, len(self.names))):
                self.nodes[name]["emits"] = "results"
        types = {"T": dict.fromkeys(FIELDS, "int64[2]")}
        data = {
            "nodes": self.nodes,
            "buffers": self.buffers,
            "edges": self.edges,
            "lanes": self._lanes(),
            "types": types,
        }
        if self.chance(0.4):
            data["routes"] = self._routes()
        if self.chance(0.25):
            data["in_flight"] = self.random.randint(1, 3)
        return Topology.model_validate(data)

    def _slots(self, buffer: str) -> None:
        self.buffers[buffer] = {"type": "T", "slots": self.random.choice((1, 2, 2, 3))}
        first = self.random.randrange(len(self.names))
        last = len(self.names) - 1 if self.tidy else self.random.randrange(first, len(self.names))
        self.nodes[self.names[first]]["acquires"].append(buffer)
        if self.chance(0.96):
            self.nodes[self.names[last]]["releases"].append(buffer)
        if self.chance(0.08):
            self.nodes[self.random.choice(self.names)]["acquires"].append(buffer)
        inside = self.names[first : last + 1] if self.tidy or self.chance(0.7) else self.names
        if self.tidy:
            self.nodes[self.names[first]]["writes"].append(buffer if self.chance(0.7) else f"{buffer}.a")
        for name in self.random.sample(inside, min(len(inside), self.random.randint(1, 3))):
            self._use(name, buffer, self.random.choice((0, 0, 0, 0, 1, 2)))

    def _persistent(self, buffer: str) -> None:
        self.buffers[buffer] = {"type": "T", "persistent": True}
        for name in self.random.sample(self.names, min(len(self.names), self.random.randint(1, 3))):
            self._use(name, buffer, 0)

    def _use(self, name: str, buffer: str, back: int) -> None:
        port = self.random.choice(("reads", "reads", "writes"))
        part = self.random.choice(("", *(f".{field}" for field in FIELDS)))
        self.nodes[name][port].append(f"{buffer}{part}" + (f"@{back}" if back else ""))

    def _edges(self) -> None:
        for index, consumer in enumerate(self.names):
            for producer in self.names[:index]:
                if self.chance(0.7 if self.tidy and producer == self.names[index - 1] else 0.25):
                    self.edges[f"{producer} -> {consumer}"] = {}
        for _ in range(self.random.choice((0, 0, 1, 2))):
            producer, consumer = self.random.choice(self.names), self.random.choice(self.names)
            self.edges[f"{producer}@{self.random.randint(1, 2)} -> {consumer}"] = {}

    def _lanes(self) -> dict[str, list[str]]:
        lanes: dict[str, list[str]] = {}
        names = (
            self.names if self.tidy or self.chance(0.7) else self.random.sample(self.names, len(self.names))
        )
        lagging = self.chance(0.4)
        lag = 0
        for name in names:
            if lagging:
                lag = (
                    min(2, lag + self.random.choice((0, 0, 1)))
                    if self.tidy
                    else self.random.choice((0, 0, 1, 2))
                )
            lanes.setdefault(f"l{self.random.randrange(3)}", []).append(f"{name}@{lag}" if lag else name)
        return {lane: {"nodes": nodes} for lane, nodes in lanes.items()}  # type: ignore[misc]

    def _routes(self) -> dict[str, list[str]]:
        most = 0.9 if self.tidy else 0.7
        needed = {name for name, node in self.nodes.items() if node["acquires"] or node["releases"]}
        return {
            route: [name for name in self.names if (self.tidy and name in needed) or self.chance(most)]
            for route in ("r0", "r1")
        }
