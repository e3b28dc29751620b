"""How much of the overlap between neighbouring steps a change to a topology takes away."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from graph.order import MarkedGraph, marked_graph
from graph.topology import Topology

DEAREST = 40
"""The price of losing all overlap."""
MOST_DISPATCHES = 20
"""Dispatch nodes looked at; each costs two walks over the graph."""

Pair = tuple[str, str]


def lost_overlap(before: Topology, after: Topology) -> int:
    """From 0, nothing lost, to `DEAREST`, where no dispatch runs beside a node of another step any more.

    Where the order was undecided before (a node off the lanes, a deadlock), any overlap now will do.
    """
    had, has = _overlapping(before), _overlapping(after)
    if has is None or had == frozenset():
        return 0
    if had is None:
        return 0 if has else DEAREST
    return round(DEAREST * len(had - has) / len(had))


def _overlapping(topology: Topology) -> frozenset[Pair] | None:
    """Pairs (a, b), one a dispatch, on two lanes: a on step k may run together with b on step k + 1.

    None where the order of the nodes is undecided.
    """
    placed = [entry.node for lane in topology.lanes.values() for entry in lane.nodes]
    if sorted(placed) != sorted(topology.nodes):
        return None
    graph = marked_graph(topology)
    if any(arc.tokens < 0 for arc in graph.arcs) or _stuck(graph):
        return None
    forward = graph.digraph()
    backward = forward.reverse(copy=False)
    ahead: dict[str, dict[str, float]] = {}
    behind: dict[str, dict[str, float]] = {}
    for node in _dispatches(topology):
        ahead[node] = nx.single_source_dijkstra_path_length(forward, node, weight="tokens")
        behind[node] = nx.single_source_dijkstra_path_length(backward, node, weight="tokens")

    def kept_apart(first: str, second: str) -> bool:
        distance = ahead[first].get(second) if first in ahead else behind[second].get(first)
        return distance is not None and distance <= 1 + graph.lag[second] - graph.lag[first]

    return frozenset(pair for pair in _pairs(topology, graph) if not kept_apart(*pair))


def _pairs(topology: Topology, graph: MarkedGraph) -> Iterator[Pair]:
    for node in _dispatches(topology):
        for other in topology.nodes:
            if graph.lane[other] != graph.lane[node]:
                yield node, other
                yield other, node


def _dispatches(topology: Topology) -> list[str]:
    return [name for name, node in topology.nodes.items() if node.kind == "dispatch"][:MOST_DISPATCHES]


def _stuck(graph: MarkedGraph) -> bool:
    still: nx.DiGraph[str] = nx.DiGraph()
    still.add_edges_from((arc.source, arc.target) for arc in graph.arcs if arc.tokens == 0)
    return not nx.is_directed_acyclic_graph(still)
