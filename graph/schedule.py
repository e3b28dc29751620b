"""The schedule in which every node starts as soon as its waits allow.

All waits of the language are met: program order of the lanes, edges, slots and `in_flight`. All steps have
arrived at time 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import networkx as nx

from graph.diagnostics import Firing
from graph.order import Arc, MarkedGraph, marked_graph
from graph.topology import Topology

DEFAULT_COST = 1.0
"""Milliseconds that a node takes for which `costs:` says nothing."""


def costs(topology: Topology) -> dict[str, float]:
    """The duration of every node in milliseconds: what `costs:` says, or `DEFAULT_COST`."""
    return {name: topology.costs.get(name, DEFAULT_COST) for name in topology.nodes}


def schedule(
    topology: Topology, durations: Mapping[str, float], steps: int, routes: Sequence[str] = ()
) -> list[Firing]:
    """The firings of the first `steps` steps, by start, then by lane; times in the unit of `durations`.

    Step k takes `routes[k % len(routes)]`, by default always the first route declared. A node that is
    passed takes no time and has no firing. `durations` has every node that works. Raises `ValueError` where
    no step could run: nodes wait for each other in a circle (LF301), or for a turn to come (LF302).
    """
    graph = marked_graph(topology)
    incoming = _incoming(graph)
    order = turn_order(graph)
    members = [set(topology.steps_routes()[name]) for name in routes or list(topology.steps_routes())[:1]]
    ends: dict[tuple[str, int], float] = {}
    found: list[Firing] = []
    for turn in range(steps + max(graph.lag.values(), default=0)):
        for node in order:
            waits = (ends[arc.source, turn - arc.tokens] for arc in incoming[node] if arc.tokens <= turn)
            start = max(waits, default=0.0)
            step = turn - graph.lag[node]
            works = 0 <= step < steps and node in members[step % len(members)]
            ends[node, turn] = start + (durations[node] if works else 0.0)
            if works:
                found.append(Firing(node, step, graph.lane[node], start, ends[node, turn]))
    lanes = list(topology.lanes)
    return sorted(found, key=lambda one: (one.start, lanes.index(one.lane), one.step))


def waits(topology: Topology, node: str, step: int, steps: int) -> Iterator[tuple[Arc, int]]:
    """Each wait of a firing, with its source's step; waits for steps that do not exist are left out."""
    graph = marked_graph(topology)
    turn = step + graph.lag[node]
    for arc in graph.arcs:
        source_step = turn - arc.tokens - graph.lag[arc.source]
        if arc.target == node and 0 <= source_step < steps:
            yield arc, source_step


def turn_order(graph: MarkedGraph) -> list[str]:
    """The nodes, each behind what it waits for in its turn; raises `ValueError` where no such order is."""
    if late := next((arc for arc in graph.arcs if arc.tokens < 0), None):
        raise ValueError(f"`{late.target}` waits for a later turn of `{late.source}`")
    same_turn: nx.DiGraph[str] = nx.DiGraph()
    same_turn.add_nodes_from(graph.lag)
    same_turn.add_edges_from((arc.source, arc.target) for arc in graph.arcs if arc.tokens == 0)
    try:
        return list(nx.topological_sort(same_turn))
    except nx.NetworkXUnfeasible:
        circle = [source for source, _ in nx.find_cycle(same_turn)]
        raise ValueError(f"nodes wait for each other in a circle: {', '.join(circle)}") from None


def _incoming(graph: MarkedGraph) -> dict[str, list[Arc]]:
    found: dict[str, list[Arc]] = {node: [] for node in graph.lag}
    for arc in graph.arcs:
        found[arc.target].append(arc)
    return found
