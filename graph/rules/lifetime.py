"""LF204-LF206: a slot is used between acquirer and release, and conflicting uses of it are ordered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations

from graph.diagnostics import Clash, Diagnostic, Moment
from graph.order import MarkedGraph
from graph.rules.facts import Access, Facts, path_of, spelt


def lifetime(facts: Facts, graph: MarkedGraph, broken: Collection[str]) -> Iterator[Diagnostic]:
    """The faults of every slot's life; `broken` are the buffers with LF201."""
    for name, buffer in facts.topology.buffers.items():
        if not buffer.persistent and name not in broken:
            yield from _once(_faults(facts, graph, name))


def _faults(facts: Facts, graph: MarkedGraph, buffer: str) -> Iterator[Diagnostic]:
    for access in facts.accesses[buffer]:
        yield from _too_early(facts, graph, buffer, access)
        yield from _too_late(facts, graph, buffer, access)
    for pair in combinations(facts.accesses[buffer], 2):
        yield from _unordered(facts, graph, buffer, *pair)


def _once(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Of several faults of one user, or of one pair of nodes, the first."""
    told: set[tuple[str, frozenset[str]]] = set()
    for one in found:
        key = (one.code, frozenset(one.nodes if one.code == "LF206" else one.nodes[:1]))
        if key not in told:
            told.add(key)
            yield one


def meetings(facts: Facts, node: str, back: int, other: str) -> Iterator[tuple[str, str]]:
    """The routes in which `node` can work `back` steps after `other`; within a step they share one."""
    for route in facts.working[other]:
        for later in facts.working[node] if back else ((route,) if route in facts.working[node] else ()):
            yield later, route


def _too_early(facts: Facts, graph: MarkedGraph, buffer: str, access: Access) -> Iterator[Diagnostic]:
    """LF204."""
    for taker in facts.topology.acquirers(buffer):
        routes = next(meetings(facts, access.node, access.back, taker), None)
        if routes is None or taker == access.node or graph.before(taker, access.node, access.back):
            continue
        first, second = Moment(taker, 0, routes[1]), Moment(access.node, access.back, routes[0])
        verb = "writes" if access.writes else "reads"
        yield Diagnostic(
            facts.topology.place(*path_of(facts.topology, access, buffer, access.writes or access.reads)),
            "LF204",
            f"`{access.node}` of step {access.back} {verb} `{buffer}` slot 0 "
            f"before `{taker}` of step 0 has acquired it",
            f"let `{access.node}` wait for `{taker}`",
            nodes=(access.node, taker),
            buffer=buffer,
            route=facts.named(routes[0]),
            clash=Clash(first, second, 0, 0),
        )


def _too_late(facts: Facts, graph: MarkedGraph, buffer: str, access: Access) -> Iterator[Diagnostic]:
    """LF205."""
    slots = facts.topology.buffers[buffer].slots
    for giver in facts.topology.releasers(buffer):
        routes = next(meetings(facts, access.node, access.back, giver), None)
        same = giver == access.node and not access.back
        if routes is None or same or graph.before(access.node, giver, -access.back):
            continue
        first, second = Moment(access.node, access.back, routes[0]), Moment(giver, 0, routes[1])
        verb = "writes" if access.writes else "reads"
        taker = next(taker for taker in facts.topology.acquirers(buffer) if facts.working[taker])
        yield Diagnostic(
            facts.topology.place(*path_of(facts.topology, access, buffer, access.writes or access.reads)),
            "LF205",
            f"`{access.node}` of step {access.back} still {verb} `{buffer}` slot 0 "
            f"when `{taker}` of step {slots} takes it",
            f"let `{giver}` wait for `{access.node}`",
            nodes=(access.node, giver),
            buffer=buffer,
            route=facts.named(routes[0]),
            clash=Clash(first, second, 0, 0),
        )


def _unordered(
    facts: Facts, graph: MarkedGraph, buffer: str, one: Access, two: Access
) -> Iterator[Diagnostic]:
    """LF206."""
    fields = one.clashes(two)
    early, late = (one, two) if one.back <= two.back else (two, one)
    routes = next(meetings(facts, late.node, late.back - early.back, early.node), None)
    if not fields or routes is None or early.node == late.node:
        return
    if ordered(graph, early.node, late.node, late.back - early.back):
        return
    slot = spelt(buffer, fields, len(facts.topology.fields(buffer)))
    yield Diagnostic(
        facts.topology.place(*path_of(facts.topology, late, buffer, fields)),
        "LF206",
        f"`{late.node}` of step {late.back} {late.verb(fields)} {slot} slot 0 "
        f"while `{early.node}` of step {early.back} {early.verb(fields)} it",
        f"order `{early.node}` and `{late.node}`",
        nodes=(late.node, early.node),
        buffer=buffer,
        route=facts.named(routes[0]),
        clash=Clash(Moment(early.node, early.back, routes[1]), Moment(late.node, late.back, routes[0]), 0, 0),
    )


def ordered(graph: MarkedGraph, first: str, second: str, steps: int) -> bool:
    """Whether `first` on step k and `second` on step k + steps never overlap."""
    return graph.before(first, second, steps) or graph.before(second, first, -steps)
