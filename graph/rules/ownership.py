"""LF201-LF203: a slot is acquired and released once, used by its holders, and released by its last owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph.diagnostics import Diagnostic, Location
from graph.rules.custody import Custody, custody
from graph.rules.facts import Facts

Path = tuple[str | int, ...]


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
    where = f" in route `{route}`" if facts.named(route) else ""
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


def holding(facts: Facts) -> Iterator[Diagnostic]:
    """LF202: one diagnostic a node and buffer; LF203: one an owner and buffer, or an edge and buffer."""
    for buffer, ways in custody(facts).items():
        yield from _unheld(facts, buffer, ways)
        yield from _across_steps(facts, buffer)
        yield from _forked(facts, buffer, ways)
        yield from _released_elsewhere(facts, buffer, ways)


def _unheld(facts: Facts, buffer: str, ways: Mapping[str, Custody]) -> Iterator[Diagnostic]:
    told: set[str] = set()
    for route, way in ways.items():
        for node, what, path in _needs(facts, buffer, route, way):
            if node not in told:
                told.add(node)
                where = f" in route `{route}`" if facts.named(route) else ""
                yield Diagnostic(
                    facts.topology.place(*path),
                    "LF202",
                    f"`{node}` {what}{where}, which it does not hold",
                    f"carry or lend `{buffer}` to `{node}`",
                    nodes=(node,),
                    buffer=buffer,
                    route=facts.named(route),
                )


def _needs(facts: Facts, buffer: str, route: str, way: Custody) -> Iterator[tuple[str, str, Path]]:
    """What nodes do with the slot that a step of `route` acquired, without holding it."""
    topology = facts.topology
    for name, node in topology.nodes.items():
        for port in ("reads", "writes"):
            for index, use in enumerate(getattr(node, port)):
                if use.buffer != buffer or not facts.working[name]:
                    continue
                held = _lent_across(facts, buffer, name, use.back, way) if use.back else name in way.holders
                if not held and (use.back or name in facts.routes[route]):
                    yield name, f"{port} `{use}`", ("nodes", name, port, index)
    for key, edge in topology.edges.items():
        if key.producer in facts.routes[route]:
            if buffer in edge.carries and key.producer not in (way.holders if key.back else way.owners):
                yield (
                    key.producer,
                    f"carries `{buffer}`",
                    ("edges", str(key), "carries", edge.carries.index(buffer)),
                )
            if buffer in edge.lends and key.producer not in way.holders:
                yield (
                    key.producer,
                    f"lends `{buffer}`",
                    ("edges", str(key), "lends", edge.lends.index(buffer)),
                )


def _lent_across(facts: Facts, buffer: str, node: str, back: int, way: Custody) -> bool:
    return any(
        (key.consumer, key.back) == (node, back)
        and buffer in (*edge.lends, *edge.carries)
        and key.producer in way.holders
        for key, edge in facts.topology.edges.items()
    )


def _across_steps(facts: Facts, buffer: str) -> Iterator[Diagnostic]:
    for key, edge in facts.topology.edges.items():
        if key.back and buffer in edge.carries:
            yield Diagnostic(
                facts.topology.place("edges", key, "carries", edge.carries.index(buffer)),
                "LF203",
                f"`{key}` carries `{buffer}` into another step; ownership moves only within a step",
                f"lend it: `{key}: {{lends: [{buffer}]}}`",
                nodes=tuple(dict.fromkeys((key.producer, key.consumer))),
                buffer=buffer,
            )


def _forked(facts: Facts, buffer: str, ways: Mapping[str, Custody]) -> Iterator[Diagnostic]:
    told: set[str] = set()
    for route, way in ways.items():
        for owner, heirs in way.heirs.items():
            if len(heirs) > 1 and owner not in told:
                told.add(owner)
                named = " and ".join(f"`{heir}`" for heir in heirs)
                where = f" in route `{route}`" if facts.named(route) else ""
                yield Diagnostic(
                    _last_carry(facts, buffer, owner),
                    "LF203",
                    f"`{owner}` carries `{buffer}` to {named}{where}; a slot has one owner",
                    f"carry `{buffer}` to one of them and lend it to the other",
                    nodes=(owner, *heirs),
                    buffer=buffer,
                    route=facts.named(route),
                )


def _last_carry(facts: Facts, buffer: str, owner: str) -> Location:
    """Where the owner hands the slot on for the last time in the file."""
    edges = facts.topology.edges.items()
    keys = [key for key, edge in edges if key.producer == owner and not key.back and buffer in edge.carries]
    return facts.topology.place("edges", keys[-1])


def _released_elsewhere(facts: Facts, buffer: str, ways: Mapping[str, Custody]) -> Iterator[Diagnostic]:
    told: set[tuple[str, str]] = set()
    for route, way in ways.items():
        givers = facts.releasers(buffer, route)
        last = [owner for owner, heirs in way.heirs.items() if not heirs]
        forked = any(len(heirs) > 1 for heirs in way.heirs.values())
        if not givers or not last or forked or set(givers) & set(last) or (givers[0], last[0]) in told:
            continue
        told.add((givers[0], last[0]))
        where = f" in route `{route}`" if facts.named(route) else ""
        index = facts.topology.nodes[givers[0]].releases.index(buffer)
        yield Diagnostic(
            facts.topology.place("nodes", givers[0], "releases", index),
            "LF203",
            f"`{givers[0]}` releases `{buffer}`{where}, and `{last[0]}` is its last owner",
            f"carry `{buffer}` from `{last[0]}` to `{givers[0]}`",
            nodes=(givers[0], last[0]),
            buffer=buffer,
            route=facts.named(route),
        )
