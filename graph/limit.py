"""What sets the period, in the simplest words that are true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from graph.critical import Cycle, critical_cycle
from graph.order import Arc, MarkedGraph
from graph.resources import INTERPRETER, Resource
from graph.topology import Topology

Kind = Literal["nothing", "lane", "resource", "cycle"]
REASONS = (
    ("lane", "edge"),
    ("lane", "edge", "slot"),
    ("lane", "edge", "in_flight"),
    ("lane", "edge", "slot", "in_flight"),
)
"""Waits that a cycle may go through, the ones easiest to explain first."""


class Limit(NamedTuple):
    """Why a step takes as long as it does: a full lane, a shared resource, or a cycle of waits."""

    kind: Kind
    text: str
    nodes: tuple[str, ...]
    """In the order of the lane or cycle."""


def find_limit(
    topology: Topology,
    graph: MarkedGraph,
    times: Mapping[str, Fraction],
    resources: Sequence[Resource],
    period: Fraction,
) -> Limit:
    """What sets `period`, the longest that any cycle or resource asks for: of several, the simplest."""
    if not period:
        return Limit("nothing", "no node takes time", ())
    for lane in topology.lanes:
        nodes = tuple(node for node, its in graph.lane.items() if its == lane and times[node])
        if sum(times[node] for node in nodes) == period:
            return Limit("lane", f"{lane} lane is full: {' + '.join(nodes)}", nodes)
    for resource in resources:
        if resource.duration == period:
            return Limit("resource", f"{named(resource)}: {' + '.join(resource.nodes)}", resource.nodes)
    for reasons in REASONS:
        arcs = tuple(arc for arc in graph.arcs if arc.reason in reasons)
        cycle = critical_cycle(MarkedGraph(arcs, graph.lag, graph.lane), times)
        if cycle.period == period:
            break
    cycle = cycle._replace(arcs=_from_first(topology, cycle.arcs))
    return Limit("cycle", _told(topology, graph, cycle, times), cycle.nodes)


def named(resource: Resource) -> str:
    """The resource with its article."""
    return f"the {resource.name} lock" if resource.name == INTERPRETER else f"the {resource.name}"


def cause(topology: Topology, arc: Arc) -> str:
    """The wait that an arc stands for, in words."""
    if arc.reason == "slot":
        slots = topology.buffers[arc.buffer or ""].slots
        return f"{slots} slot{'s' if slots > 1 else ''} of `{arc.buffer}`"
    if arc.reason == "in_flight":
        return f"`in_flight: {topology.in_flight}`"
    return f"edge `{arc.edge}`" if arc.edge is not None else "lane order"


def _from_first(topology: Topology, arcs: tuple[Arc, ...]) -> tuple[Arc, ...]:
    """The cycle from the node that the file declares first."""
    order = list(topology.nodes)
    first = min(range(len(arcs)), key=lambda place: order.index(arcs[place].source))
    return (*arcs[first:], *arcs[:first])


def _told(topology: Topology, graph: MarkedGraph, cycle: Cycle, times: Mapping[str, Fraction]) -> str:
    causes = [*dict.fromkeys(_causes(topology, graph, cycle.arcs))]
    work = " + ".join(node for node in cycle.nodes if times[node])
    steps = f" every {cycle.tokens} steps" if cycle.tokens > 1 else ""
    return f"{' and '.join(causes)}: {work}{steps}"


def _causes(topology: Topology, graph: MarkedGraph, arcs: Iterable[Arc]) -> Iterator[str]:
    """What on the cycle lets only so many steps go round it."""
    for arc in arcs:
        if arc.reason in ("slot", "in_flight") or (arc.edge is not None and arc.edge.back):
            yield cause(topology, arc)
        elif arc.reason == "lane" and arc.tokens:
            yield f"the order of lane {graph.lane[arc.source]}"
        elif arc.tokens:
            yield f"the lag of `{arc.target}` behind `{arc.source}`"
