"""LF601-LF602: what is sound and slower than it need be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from graph.diagnostics import Diagnostic
from graph.order import MarkedGraph, marked_graph
from graph.plan import critical_cycle
from graph.topology import MAX_BACK, Topology

WORDS = ("resource", "value")
Sound = Callable[[Topology], bool]


def advice(topology: Topology, graph: MarkedGraph, sound: Sound) -> Iterator[Diagnostic]:
    """Advice on a topology without faults; `sound` says whether a changed one would have none either."""
    if topology.costs and topology.nodes:
        yield from _more_slots(topology, graph, sound)
    yield from _unpinned(topology)


def _more_slots(topology: Topology, graph: MarkedGraph, sound: Sound) -> Iterator[Diagnostic]:
    """LF601: one diagnostic a buffer."""
    period = critical_cycle(graph, topology.costs).period
    lanes = MarkedGraph(tuple(arc for arc in graph.arcs if arc.reason != "slot"), graph.lag, graph.lane)
    allowed = critical_cycle(lanes, topology.costs).period
    enough = _enough(topology, allowed) if period > allowed else {}
    more = {name: count for name, count in enough.items() if count > topology.buffers[name].slots}
    listed = " and ".join(f"`{name}` {count} slots" for name, count in more.items())
    keeps = bool(more) and sound(with_slots(topology, more))
    for name, count in more.items():
        slots = topology.buffers[name].slots
        told = f"1 slot of `{name}` holds" if slots == 1 else f"{slots} slots of `{name}` hold"
        reach = f"{count} slots would reach" if len(more) == 1 else f"to give {listed} would reach"
        yield Diagnostic(
            topology.place("buffers", name, "slots"),
            "LF601",
            f"{told} the period at {float(period):g} ms; "
            f"{reach} the {float(allowed):g} ms that the lanes allow",
            f"give {listed}" if keeps else f"order what the slots keep apart, then give {listed}",
            severity="advice",
            buffer=name,
        )


def _enough(topology: Topology, allowed: Fraction) -> Mapping[str, int]:
    """Slot counts at which the period is `allowed`; empty where no count up to the limit is enough."""
    counts = {name: buffer.slots for name, buffer in topology.buffers.items() if not buffer.persistent}
    while (
        cycle := critical_cycle(marked_graph(with_slots(topology, counts)), topology.costs)
    ).period > allowed:
        name = min((arc.buffer for arc in cycle.arcs if arc.buffer is not None), key=counts.__getitem__)
        missing = math.ceil(cycle.duration / allowed) - cycle.tokens
        counts[name] += missing
        if counts[name] > MAX_BACK:
            return {}
    return counts


def with_slots(topology: Topology, counts: Mapping[str, int]) -> Topology:
    """The topology with other slot counts."""
    buffers = {
        name: buffer.model_copy(update={"slots": counts.get(name, buffer.slots)})
        for name, buffer in topology.buffers.items()
    }
    return topology.model_copy(update={"buffers": buffers})


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
