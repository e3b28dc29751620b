"""LF207 and LF209: persistent buffers are used in order at every distance, request rows with a generation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

from graph.diagnostics import Clash, Diagnostic, Moment
from graph.order import MarkedGraph
from graph.rules.facts import Access, Facts, fields_of, path_of, spelt
from graph.rules.lifetime import meetings


def races(facts: Facts, graph: MarkedGraph) -> Iterator[Diagnostic]:
    """LF207: one diagnostic a pair of nodes and buffer, at the smallest distance at which they clash."""
    for name, buffer in facts.topology.buffers.items():
        if buffer.persistent:
            for one, two in combinations(facts.accesses[name], 2):
                fields = one.clashes(two)
                steps = clash_distance(
                    graph, one.node, two.node, facts.shared(one.node, two.node) is not None
                )
                if fields and steps is not None:
                    yield _race(
                        facts, name, fields, *((one, two, steps) if steps >= 0 else (two, one, -steps))
                    )


def clash_distance(graph: MarkedGraph, first: str, second: str, same_step: bool) -> int | None:
    """The j nearest to 0 for which `first` on step k and `second` on step k + j may overlap, if any.

    first < second(+j) holds from j = D(first, second) + lag(first) - lag(second) on, and second < first(-j)
    up to j = lag(first) - lag(second) - D(second, first): what lies between is free to overlap. `same_step`
    says whether j = 0 can be at all.
    """
    shift = graph.lag[first] - graph.lag[second]
    above = shift - graph.distance(second, first)
    below = shift + graph.distance(first, second)
    candidates = [0] if same_step else []
    for j in (1, -1, above + 1, below - 1):
        if math.isfinite(j) and j:
            candidates.append(int(j))
    free = [j for j in candidates if above < j < below]
    return min(free, key=abs, default=None)


def _race(
    facts: Facts, buffer: str, fields: frozenset[str], early: Access, late: Access, steps: int
) -> Diagnostic:
    later, route = next(meetings(facts, late.node, steps, early.node))
    what = spelt(buffer, fields, len(facts.topology.fields(buffer)))
    return Diagnostic(
        facts.topology.place(*path_of(facts.topology, late, buffer, fields)),
        "LF207",
        f"`{late.node}` of step {steps} {late.verb(fields)} {what} "
        f"while `{early.node}` of step 0 {early.verb(fields)} it",
        f"order `{early.node}` and `{late.node}`",
        nodes=(late.node, early.node),
        buffer=buffer,
        route=facts.named(later),
        clash=Clash(Moment(early.node, 0, route), Moment(late.node, steps, later)),
    )


def generations(facts: Facts) -> Iterator[Diagnostic]:
    """LF209: one diagnostic a node and request-keyed buffer."""
    topology = facts.topology
    for name, node in topology.nodes.items():
        uses = (*node.writes, *node.reads)
        keyed = dict.fromkeys(
            use.buffer for use in uses if topology.buffers[use.buffer].keyed_by == "request"
        )
        if not keyed or _sees_generation(facts, name):
            continue
        for buffer in keyed:
            port, index = next(
                (port, index)
                for port in ("writes", "reads")
                for index, use in enumerate(getattr(node, port))
                if use.buffer == buffer
            )
            yield Diagnostic(
                topology.place("nodes", name, port, index),
                "LF209",
                f"`{name}` {port} `{buffer}`, whose rows belong to requests, and sees no slot's `generation`",
                "read the `generation` that the step was prepared for, and compare it with the row's",
                nodes=(name,),
                buffer=buffer,
            )


def _sees_generation(facts: Facts, name: str) -> bool:
    topology = facts.topology
    node = topology.nodes[name]
    if any(
        not topology.buffers[use.buffer].persistent and "generation" in fields_of(topology, use)
        for use in (*node.reads, *node.writes)
    ):
        return True
    for key, edge in topology.edges.items():
        for kind in (edge.type, edge.value):
            if key.consumer == name and kind is not None:
                declared = topology.types[kind]
                if not isinstance(declared, str) and "generation" in declared:
                    return True
    return False
