"""LF202: a slot is used, carried and lent by those who hold it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph.diagnostics import Diagnostic
from graph.rules.custody import Custody
from graph.rules.facts import Facts

Path = tuple[str | int, ...]
Ways = Mapping[str, Mapping[str, Custody]]


def holding(facts: Facts, custody: Ways) -> Iterator[Diagnostic]:
    """One diagnostic a node and buffer, for the first route at fault."""
    for buffer, ways in custody.items():
        yield from _unheld(facts, buffer, ways)
        if not (ways or facts.accesses[buffer] or facts.topology.releasers(buffer)):
            yield from _never_there(facts, buffer)


def _unheld(facts: Facts, buffer: str, ways: Mapping[str, Custody]) -> Iterator[Diagnostic]:
    told: set[str] = set()
    for route, way in ways.items():
        for node, what, path in _needs(facts, buffer, route, way):
            if node not in told:
                told.add(node)
                where = facts.where(route)
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


def _never_there(facts: Facts, buffer: str) -> Iterator[Diagnostic]:
    """What is carried or lent and in no route acquired, released or used."""
    told: set[str] = set()
    for key, edge in facts.topology.edges.items():
        part = "carries" if buffer in edge.carries else "lends" if buffer in edge.lends else None
        if part is not None and facts.working[key.producer] and key.producer not in told:
            told.add(key.producer)
            yield Diagnostic(
                facts.topology.place("edges", key, part),
                "LF202",
                f"`{key.producer}` {part} `{buffer}`, which no node acquires",
                f"drop `{buffer}` from `{key}`, or let a node acquire and a node release it",
                nodes=(key.producer,),
                buffer=buffer,
            )


def _lent_across(facts: Facts, buffer: str, node: str, back: int, way: Custody) -> bool:
    return any(
        (key.consumer, key.back) == (node, back)
        and buffer in (*edge.lends, *edge.carries)
        and key.producer in way.holders
        for key, edge in facts.topology.edges.items()
    )
