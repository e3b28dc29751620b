"""LF203: each owner hands a slot on once, within its step, and the last one releases it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph.diagnostics import Diagnostic, Location
from graph.rules.custody import Custody
from graph.rules.facts import Facts


def handing(facts: Facts, custody: Mapping[str, Mapping[str, Custody]]) -> Iterator[Diagnostic]:
    """One diagnostic an owner and buffer, or an edge and buffer."""
    for buffer, ways in custody.items():
        yield from _across_steps(facts, buffer)
        yield from _forked(facts, buffer, ways)
        yield from _released_elsewhere(facts, buffer, ways)


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
                where = facts.where(route)
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
        where = facts.where(route)
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
