"""Who owns and who holds each slot, route by route.

Ownership moves along `carries` from the acquirer; `lends` gives a slot to use. A node that the route leaves
out hands on what it is given, unless its giver also carries to a node of that route.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from graph.rules.facts import Facts

Handing = Callable[[str], Iterable[str]]


class Custody(NamedTuple):
    """One buffer's slot in one route."""

    owners: frozenset[str]
    """Every node that owns it at some time, nodes left out included."""
    holders: frozenset[str]
    """The owners, and every node to which it is lent, directly or on."""
    heirs: Mapping[str, tuple[str, ...]]
    """To which nodes of the route each owner in the route hands it on."""


def custody(facts: Facts) -> Mapping[str, Mapping[str, Custody]]:
    """For each buffer with slots, its custody in the routes that acquire it."""
    carried: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    lent: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key, edge in facts.topology.edges.items():
        if key.back == 0:
            for name in edge.carries:
                carried[name][key.producer].append(key.consumer)
            for name in edge.lends:
                lent[name][key.producer].append(key.consumer)
    found: dict[str, dict[str, Custody]] = {}
    for name, buffer in facts.topology.buffers.items():
        if not buffer.persistent:
            found[name] = {
                route: _custody(takers, members, carried[name], lent[name])
                for route, members in facts.routes.items()
                if (takers := facts.acquirers(name, route))
            }
    return found


def _custody(
    takers: Iterable[str],
    route: frozenset[str],
    carried: Mapping[str, list[str]],
    lent: Mapping[str, list[str]],
) -> Custody:
    def carries(node: str) -> list[str]:
        targets = carried.get(node, [])
        return [target for target in targets if target in route] or targets

    def gives(node: str) -> list[str]:
        return [*carries(node), *lent.get(node, [])]

    def skips(node: str) -> Iterable[str]:
        return () if node in route else carries(node)

    owners = _reached(takers, carries)
    heirs = {
        owner: tuple(heir for heir in _reached(carries(owner), skips) if heir in route)
        for owner in owners
        if owner in route
    }
    return Custody(frozenset(owners), frozenset(_reached(owners, gives)), heirs)


def _reached(starts: Iterable[str], onward: Handing) -> dict[str, None]:
    """The starts and all that can be reached from them, in the order in which they are met."""
    found: dict[str, None] = {}
    stack = list(starts)
    while stack:
        node = stack.pop(0)
        if node not in found:
            found[node] = None
            stack.extend(onward(node))
    return found
