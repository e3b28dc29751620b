"""LF201: in every route a slot is acquired once and released once, or not touched at all."""

from __future__ import annotations

from collections.abc import Iterator

from graph.diagnostics import Diagnostic
from graph.rules.facts import Facts


def tenures(facts: Facts) -> Iterator[Diagnostic]:
    """LF201: one diagnostic a buffer, for the first route at fault."""
    for name, buffer in facts.topology.buffers.items():
        if not buffer.persistent:
            faults = (fault for route in facts.routes if (fault := _miscount(facts, name, route)))
            first = next(faults, None) or _never_acquired(facts, name)
            if first is not None:
                yield first


def _miscount(facts: Facts, buffer: str, route: str) -> Diagnostic | None:
    nodes = facts.topology.nodes
    takers = [n for n in facts.acquirers(buffer, route) for _ in range(nodes[n].acquires.count(buffer))]
    givers = [n for n in facts.releasers(buffer, route) for _ in range(nodes[n].releases.count(buffer))]
    users = [a.node for a in facts.accesses[buffer] if not a.back and a.node in facts.routes[route]]
    if len(takers) == len(givers) == 1 or not (takers or givers or users):
        return None
    where = facts.where(route)
    if not takers:
        verb = "used" if users else "released"
        what = f"`{buffer}` is {verb} by `{(users or givers)[0]}` and acquired by no node{where}"
        mend = f"let the first node that uses `{buffer}` acquire it"
    elif not givers:
        what = f"`{takers[0]}` acquires `{buffer}` and no node releases it{where}"
        mend = f"let a release node{where} release `{buffer}`"
    else:
        twice, verb = (takers, "acquired") if len(takers) > 1 else (givers, "released")
        named = " and ".join(f"`{node}`" for node in twice)
        what = f"`{buffer}` is {verb} {len(twice)} times{where}: by {named}"
        mend = f"let one node{where} do it, once"
    return Diagnostic(
        facts.topology.place("buffers", buffer),
        "LF201",
        what,
        mend,
        nodes=tuple(dict.fromkeys((*takers, *givers, *users))),
        buffer=buffer,
        route=facts.named(route),
    )


def _never_acquired(facts: Facts, buffer: str) -> Diagnostic | None:
    accesses = facts.accesses[buffer]
    if not accesses or any(facts.acquirers(buffer, route) for route in facts.routes):
        return None
    user = accesses[0]
    return Diagnostic(
        facts.topology.place("buffers", buffer),
        "LF201",
        f"`{user.node}` uses `{buffer}@{user.back}` and no node acquires `{buffer}` in any route",
        f"let a node acquire and a node release `{buffer}`",
        nodes=(user.node,),
        buffer=buffer,
    )
