"""LF601-LF602: what is sound and slower than it need be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from graph.critical import cycle_ratio
from graph.diagnostics import Diagnostic
from graph.durations import durations_of
from graph.order import MarkedGraph
from graph.topology import Topology
from graph.useful_slots import best_period, useful_slots, with_slots

WORDS = ("resource", "value")
Sound = Callable[[Topology], bool]


def advice(topology: Topology, graph: MarkedGraph, sound: Sound) -> Iterator[Diagnostic]:
    """Advice on a topology without faults; `sound` says whether a changed one would have none either."""
    if topology.costs and topology.nodes:
        yield from _more_slots(topology, graph, sound)
    yield from _unpinned(topology)


def _more_slots(topology: Topology, graph: MarkedGraph, sound: Sound) -> Iterator[Diagnostic]:
    """LF601: one diagnostic a buffer, for the first route whose period slots hold up."""
    known = durations_of(topology).times
    for route, members in topology.steps_routes().items():
        times = {node: known[node] if node in members else Fraction(0) for node in topology.nodes}
        period, allowed = cycle_ratio(graph, times), best_period(graph, times)
        if period > allowed:
            floor = {name: buffer.slots for name, buffer in topology.buffers.items()}
            enough = useful_slots(topology, graph, times, allowed, floor).counts
            more = {name: count for name, count in enough.items() if count > floor[name]}
            yield from _told(topology, route, more, (period, allowed), sound(with_slots(topology, more)))
            return


def _told(
    topology: Topology, route: str, more: Mapping[str, int], periods: tuple[Fraction, Fraction], keeps: bool
) -> Iterator[Diagnostic]:
    """`periods`: the one there is, and what `more` reach; `keeps`: whether all stays sound with them."""
    period, allowed = map(float, periods)
    listed = " and ".join(f"`{name}` {count} slots" for name, count in more.items())
    for name, count in more.items():
        slots = topology.buffers[name].slots
        told = f"1 slot of `{name}` holds" if slots == 1 else f"{slots} slots of `{name}` hold"
        reach = f"{count} slots would reach" if len(more) == 1 else f"to give {listed} would reach"
        yield Diagnostic(
            topology.place("buffers", name, "slots"),
            "LF601",
            f"{told} the period at {period:g} ms; {reach} the {allowed:g} ms that the lanes allow",
            f"give {listed}" if keeps else f"order what the slots keep apart, then give {listed}",
            severity="advice",
            buffer=name,
            route=route if topology.routes else None,
        )


def _unpinned(topology: Topology) -> Iterator[Diagnostic]:
    """LF602: one diagnostic a node and buffer."""
    streams = [program for program in topology.lanes.values() if program.worker == "stream"]
    for name in (entry.node for program in streams for entry in program.nodes):
        node = topology.nodes[name]
        for buffer in dict.fromkeys(use.buffer for use in (*node.reads, *node.writes)):
            place = topology.buffers[buffer].place
            if place in ("host", "shared") and topology.types[topology.buffers[buffer].type] not in WORDS:
                yield Diagnostic(
                    topology.place("buffers", buffer),
                    "LF602",
                    f"`{name}` runs on a stream and copies `{buffer}`, {place} memory that is not pinned: "
                    "the copy is not asynchronous",
                    f"write `place: pinned` for `{buffer}`",
                    severity="advice",
                    nodes=(name,),
                    buffer=buffer,
                )
