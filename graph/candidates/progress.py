"""Changes that let a stuck topology go on, and a limit be reached: LF301-LF303."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from graph.candidates.changes import (
    Change,
    in_flight,
    lag_of,
    lagged,
    lane_of,
    placed,
    slots,
    stepped_back,
    without_edge,
)
from graph.diagnostics import Diagnostic
from graph.edits import Remove
from graph.order import Arc, marked_graph
from graph.topology import Topology


def deadlock(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF301: one more token somewhere on the cycle."""
    arcs = cycle_arcs(topology, diagnostic)
    for arc in arcs:
        if arc.buffer is not None:
            for more in (1, 2):
                yield slots(topology, arc.buffer, topology.buffers[arc.buffer].slots + more)
        if arc.reason == "in_flight" and topology.in_flight is not None:
            for more in (1, 2):
                yield in_flight(topology, topology.in_flight + more)
    yield from _lane_turns(topology, arcs)
    for arc in arcs:
        if arc.edge is not None:
            known = topology.edges[arc.edge]
            back = stepped_back(topology, arc.edge, arc.edge.back + 1)
            if back and not known.carries:
                yield back.costing(30)
            if not (known.carries or known.lends):
                yield without_edge(arc.edge)
    if topology.in_flight is not None and any(arc.reason == "in_flight" for arc in arcs):
        yield Change((Remove(("in_flight",)),), "drop `in_flight`", 30)


def cycle_arcs(topology: Topology, diagnostic: Diagnostic) -> list[Arc]:
    """The arcs without tokens between neighbours on the cycle, which the diagnostic's nodes begin with."""
    between: dict[tuple[str, str], list[Arc]] = {}
    for arc in marked_graph(topology).arcs:
        if arc.tokens == 0:
            between.setdefault((arc.source, arc.target), []).append(arc)
    found: list[Arc] = []
    nodes = diagnostic.nodes
    for length in range(len(nodes)):
        found += (
            between.get((nodes[length], nodes[0]), []) if length else between.get((nodes[0], nodes[0]), [])
        )
        if (nodes[length], nodes[0]) in between:
            break
        if length + 1 < len(nodes):
            found += between.get((nodes[length], nodes[length + 1]), [])
    return found


def _lane_turns(topology: Topology, arcs: list[Arc]) -> Iterator[Change]:
    """Where the cycle runs along a lane: its entries the other way round, or a turn later."""
    for arc in arcs:
        if arc.reason != "lane":
            continue
        lane = lane_of(topology, arc.source)
        without = [entry.node for entry in topology.lanes[lane].nodes]
        ahead = [name for name in without if name != arc.target]
        yield placed(topology, arc.target, lane, ahead.index(arc.source), lag_of(topology, arc.target))
        behind = [name for name in without if name != arc.source]
        yield placed(topology, arc.source, lane, behind.index(arc.target) + 1, lag_of(topology, arc.source))
    along = [arc for arc in arcs if arc.reason == "lane"]
    for first, second in pairwise(along):
        if first.target == second.source:  # a stretch of a lane: its last before its first
            lane = lane_of(topology, first.source)
            others = [entry.node for entry in topology.lanes[lane].nodes if entry.node != second.target]
            yield placed(
                topology, second.target, lane, others.index(first.source), lag_of(topology, second.target)
            )
    for node in dict.fromkeys(arc.source for arc in along):
        yield lagged(topology, node, lag_of(topology, node) + 1).costing(18)


def earlier_turn(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF302: the wait gets the tokens that it lacks."""
    waiting, waited = diagnostic.nodes[:2]
    graph = marked_graph(topology)
    for arc in graph.arcs:
        if (arc.source, arc.target) != (waited, waiting) or arc.tokens >= 0:
            continue
        lack = -arc.tokens
        if arc.buffer is not None:
            for more in (0, 1):
                yield slots(topology, arc.buffer, topology.buffers[arc.buffer].slots + lack + more)
        if arc.reason == "in_flight" and topology.in_flight is not None:
            for more in (0, 1):
                yield in_flight(topology, topology.in_flight + lack + more)
        if graph.lag[waited] >= lack:
            yield lagged(topology, waited, graph.lag[waited] - lack)
        yield lagged(topology, waiting, graph.lag[waiting] + lack)
        if arc.edge is not None:
            known = topology.edges[arc.edge]
            if not known.carries and (back := stepped_back(topology, arc.edge, arc.edge.back + lack)):
                yield back.costing(24)
            if not (known.carries or known.lends):
                yield without_edge(arc.edge)


def unreached(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF303: room for the steps asked for, or a limit that is reached."""
    del diagnostic
    limit = topology.in_flight
    if limit is None:
        return
    for name, buffer in topology.buffers.items():
        if not buffer.persistent:
            for count in range(buffer.slots + 1, max(buffer.slots + 1, limit) + 1):
                yield slots(topology, name, count)
    for most in range(limit - 1, max(limit - 8, 0), -1):
        yield in_flight(topology, most)
    yield Change((Remove(("in_flight",)),), "drop `in_flight`", 24)
