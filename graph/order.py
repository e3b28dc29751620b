"""The marked graph of a topology: which firings wait for which, and what that orders.

A node is a transition, a wait is an arc with tokens. With D(a, b) the least number of tokens over all paths
from a to b, and no arc negative, a on step k is through before b on step k + j starts, for every k, exactly
when D(a, b) <= j + lag(b) - lag(a).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Literal, NamedTuple

import networkx as nx

from graph.topology import EdgeKey, Topology

Reason = Literal["lane", "edge", "slot", "in_flight"]


class Arc(NamedTuple):
    """`target` in turn i waits until `source` is through in turn i - tokens."""

    source: str
    target: str
    tokens: int
    reason: Reason
    buffer: str | None = None
    edge: EdgeKey | None = None


@dataclass(frozen=True)
class MarkedGraph:
    """Arcs between nodes, with each node's lag and lane."""

    arcs: tuple[Arc, ...]
    lag: Mapping[str, int]
    lane: Mapping[str, str]
    _distances: dict[str, Mapping[str, float]] = field(default_factory=dict, repr=False, compare=False)
    _graph: list[nx.DiGraph[str]] = field(default_factory=list, repr=False, compare=False)

    def distance(self, source: str, target: str) -> float:
        """D(source, target): least tokens over all paths, `inf` where none is; 0 from a node to itself."""
        found = self._distances.get(source)
        if found is None:
            found = nx.single_source_dijkstra_path_length(self.digraph(), source, weight="tokens")
            self._distances[source] = found
        return found.get(target, math.inf)

    def before(self, first: str, second: str, steps: int = 0) -> bool:
        """Whether `first` on step k is through before `second` on step k + steps starts, for every k."""
        return self.distance(first, second) <= steps + self.lag[second] - self.lag[first]

    def digraph(self) -> nx.DiGraph[str]:
        """The arcs as a networkx graph: of parallel arcs the one with the fewest tokens."""
        if not self._graph:
            graph: nx.DiGraph[str] = nx.DiGraph()
            graph.add_nodes_from(self.lag)
            for arc in self.arcs:
                known = graph.get_edge_data(arc.source, arc.target)
                if known is None or arc.tokens < known["tokens"]:
                    graph.add_edge(arc.source, arc.target, tokens=arc.tokens, arc=arc)
            self._graph.append(graph)
        return self._graph[0]


def marked_graph(topology: Topology) -> MarkedGraph:
    """The marked graph that section 2 of the language defines; every name must exist (LF003).

    A node that is not on exactly one lane (LF101) has no turn of its own: it is left out, with its arcs.
    """
    count = Counter(entry.node for lane in topology.lanes.values() for entry in lane.nodes)
    lag: dict[str, int] = {}
    lane: dict[str, str] = {}
    for name, program in topology.lanes.items():
        for entry in (entry for entry in program.nodes if count[entry.node] == 1):
            lag[entry.node] = entry.lag
            lane[entry.node] = name
    arcs = (
        *_lane_arcs(lane),
        *_edge_arcs(topology, lag),
        *_slot_arcs(topology, lag),
        *_limit_arcs(topology, lag),
    )
    return MarkedGraph(arcs, lag, lane)


def entry_nodes(topology: Topology) -> tuple[str, ...]:
    """The nodes with no incoming edge of the same step: what a new step waits at."""
    fed = {key.consumer for key in topology.edges if key.back == 0}
    return tuple(name for name in topology.nodes if name not in fed)


def _lane_arcs(lane: Mapping[str, str]) -> Iterator[Arc]:
    """`lane` has the nodes of each lane in the order of its program."""
    for _, group in groupby(lane, key=lane.__getitem__):
        names = list(group)
        for first, second in pairwise(names):
            yield Arc(first, second, 0, "lane")
        yield Arc(names[-1], names[0], 1, "lane")


def _edge_arcs(topology: Topology, lag: Mapping[str, int]) -> Iterator[Arc]:
    for key in topology.edges:
        if key.producer not in lag or key.consumer not in lag:
            continue
        tokens = key.back + lag[key.consumer] - lag[key.producer]
        yield Arc(key.producer, key.consumer, tokens, "edge", edge=key)


def _slot_arcs(topology: Topology, lag: Mapping[str, int]) -> Iterator[Arc]:
    for name, buffer in topology.buffers.items():
        givers = [giver for giver in topology.releasers(name) if giver in lag]
        for taker in (taker for taker in topology.acquirers(name) if taker in lag):
            for giver in givers:
                yield Arc(giver, taker, buffer.slots + lag[taker] - lag[giver], "slot", buffer=name)


def _limit_arcs(topology: Topology, lag: Mapping[str, int]) -> Iterator[Arc]:
    if topology.in_flight is None:
        return
    for entry in (entry for entry in entry_nodes(topology) if entry in lag):
        for node in (node for node in topology.nodes if node in lag):
            yield Arc(node, entry, topology.in_flight + lag[entry] - lag[node], "in_flight")
