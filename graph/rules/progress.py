"""LF301-LF303: no firing waits for itself or for a later turn, and `in_flight` can be reached."""

from __future__ import annotations

import math
from collections.abc import Iterator

import networkx as nx

from graph.diagnostics import Diagnostic, Location
from graph.order import Arc, MarkedGraph, entry_nodes, marked_graph
from graph.rules.cycles import components
from graph.rules.structure import step_edges
from graph.topology import Topology


def late_turns(topology: Topology, graph: MarkedGraph) -> Iterator[Diagnostic]:
    """LF302: one diagnostic a waiting node and what it waits for. Cycles within a step are LF102's."""
    step = step_edges(topology)
    part = {
        node: index for index, nodes in enumerate(nx.strongly_connected_components(step)) for node in nodes
    }
    told: set[tuple[str, str, str | None]] = set()
    for arc in graph.arcs:
        key = (arc.target, arc.source, arc.buffer)
        in_cycle = arc.edge is not None and not arc.edge.back and part[arc.source] == part[arc.target]
        if arc.tokens < 0 and not in_cycle and key not in told:
            told.add(key)
            yield _late_turn(topology, graph, arc)


def _late_turn(topology: Topology, graph: MarkedGraph, arc: Arc) -> Diagnostic:
    distance = arc.tokens + graph.lag[arc.source] - graph.lag[arc.target]
    step, waiting = (0, distance) if distance >= 0 else (-distance, 0)
    first = f"`{arc.target}` of step {waiting} runs in turn {waiting + graph.lag[arc.target]}"
    second = f"in turn {step + graph.lag[arc.source]}"
    if arc.reason == "slot":
        slot = f"the `{arc.buffer}` slot that `{arc.source}` of step {step} gives back"
        what = f"{first} and needs {slot} {second}"
    else:
        what = f"{first} and waits for `{arc.source}` of step {step}, which runs {second}"
    return Diagnostic(
        _place(topology, arc),
        "LF302",
        what,
        f"lower the lag of `{arc.source}` or raise that of `{arc.target}` by {-arc.tokens}",
        nodes=(arc.target, arc.source),
        buffer=arc.buffer,
    )


def _place(topology: Topology, arc: Arc) -> Location:
    """Where a wait is declared that is not mere lane order."""
    if arc.edge is not None:
        return topology.place("edges", arc.edge)
    if arc.buffer is not None:
        index = topology.nodes[arc.target].acquires.index(arc.buffer)
        return topology.place("nodes", arc.target, "acquires", index)
    return topology.place("in_flight")


def deadlocks(topology: Topology, graph: MarkedGraph) -> Iterator[Diagnostic]:
    """LF301: one diagnostic for each set of nodes that wait for each other."""
    zero: nx.DiGraph[str] = nx.DiGraph()
    zero.add_nodes_from(graph.lag)
    for arc in sorted(graph.arcs, key=lambda arc: arc.reason == "in_flight"):
        if arc.tokens == 0 and not zero.has_edge(arc.source, arc.target):
            zero.add_edge(arc.source, arc.target, arc=arc)
    for cycle, rest in components(zero):
        arcs = [zero.edges[pair]["arc"] for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
        yield _deadlock(topology, arcs, (*cycle, *rest))


def _deadlock(topology: Topology, arcs: list[Arc], nodes: tuple[str, ...]) -> Diagnostic:
    rank = {"slot": 0, "in_flight": 1, "edge": 2, "lane": 3}
    told = min(arcs, key=lambda arc: rank[arc.reason])
    buffers = {arc.buffer for arc in arcs if arc.buffer is not None}
    waits = ", ".join(
        f"`{arc.target}` waits for `{arc.source}` ({_why(topology, arc)})" for arc in reversed(arcs)
    )
    return Diagnostic(
        _place(topology, told),
        "LF301",
        f"deadlock: {waits}",
        "give the cycle one more slot or step, or run the node that gives back earlier in its lane",
        nodes=nodes,
        buffer=buffers.pop() if len(buffers) == 1 else None,
    )


def _why(topology: Topology, arc: Arc) -> str:
    if arc.reason == "slot":
        count = topology.buffers[arc.buffer or ""].slots
        return f"{count} slot{'s' if count > 1 else ''} of `{arc.buffer}`"
    if arc.reason == "in_flight":
        return f"`in_flight: {topology.in_flight}`"
    return f"edge `{arc.edge}`" if arc.edge is not None else "lane order"


def unreached_limit(topology: Topology) -> Iterator[Diagnostic]:
    """LF303: without the limit too, all of step k is through before step k + in_flight - 1 enters."""
    if topology.in_flight is None:
        return
    free = marked_graph(topology.model_copy(update={"in_flight": None}))
    ways = [
        free.distance(node, entry) + free.lag[node] - free.lag[entry]
        for node in topology.nodes
        for entry in entry_nodes(topology)
    ]
    reached = max(1, *ways) if ways else math.inf
    if reached < topology.in_flight:
        yield Diagnostic(
            topology.place("in_flight"),
            "LF303",
            f"`in_flight: {topology.in_flight}` is never reached: the waits let {reached:.0f} "
            f"step{'s' if reached > 1 else ''} be in flight",
            f"write `in_flight: {reached:.0f}`, or add slots",
            severity="warning",
        )
