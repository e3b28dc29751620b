"""What the rules ask of a topology again and again: who works in which route, who touches which field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from graph.topology import Node, Topology, Use

WHOLE = ""
"""The one field of a type that has no fields of its own."""

Ports = Literal["reads", "writes"]


class Access(NamedTuple):
    """All that a node reads and writes in the slot that the step `back` steps earlier acquired."""

    node: str
    back: int
    reads: frozenset[str]
    writes: frozenset[str]

    def clashes(self, other: Access) -> frozenset[str]:
        """The fields on which the two conflict: common ones that at least one of them writes."""
        return (self.writes & (other.reads | other.writes)) | (self.reads & other.writes)

    def verb(self, fields: frozenset[str]) -> Ports:
        return "writes" if fields & self.writes else "reads"


@dataclass(frozen=True)
class Facts:
    """A topology whose names all exist, with its routes and accesses looked up once."""

    topology: Topology
    routes: Mapping[str, frozenset[str]]
    """The nodes that work in each route."""
    working: Mapping[str, tuple[str, ...]]
    """The routes in which each node works."""
    accesses: Mapping[str, tuple[Access, ...]]
    """For each buffer, the accesses of nodes that work in some route."""

    def shared(self, first: str, second: str) -> str | None:
        """A route in which both nodes work."""
        return next((route for route in self.working[first] if route in self.working[second]), None)

    def named(self, route: str) -> str | None:
        """The route as a diagnostic gives it: None where the file declares no routes."""
        return route if self.topology.routes else None

    def where(self, route: str) -> str:
        """The route as a message names it, with a space in front; empty where the file declares none."""
        return f" in route `{route}`" if self.topology.routes else ""

    def acquirers(self, buffer: str, route: str) -> tuple[str, ...]:
        return tuple(node for node in self.topology.acquirers(buffer) if node in self.routes[route])

    def releasers(self, buffer: str, route: str) -> tuple[str, ...]:
        return tuple(node for node in self.topology.releasers(buffer) if node in self.routes[route])


def facts(topology: Topology) -> Facts:
    """The facts of a topology without LF001-LF005 faults."""
    routes = {name: frozenset(nodes) for name, nodes in topology.steps_routes().items()}
    working = {
        node: tuple(route for route, members in routes.items() if node in members) for node in topology.nodes
    }
    found: dict[str, list[Access]] = {buffer: [] for buffer in topology.buffers}
    for name, node in topology.nodes.items():
        if working[name]:
            for buffer, access in _accesses(topology, name, node):
                found[buffer].append(access)
    return Facts(topology, routes, working, {buffer: tuple(accesses) for buffer, accesses in found.items()})


def fields_of(topology: Topology, use: Use) -> frozenset[str]:
    """The fields that a use covers; `WHOLE` alone where the type has none."""
    return frozenset((use.field,)) if use.field else frozenset(topology.fields(use.buffer) or (WHOLE,))


def _accesses(topology: Topology, name: str, node: Node) -> Iterator[tuple[str, Access]]:
    touched = dict.fromkeys((use.buffer, use.back) for use in (*node.reads, *node.writes))
    for buffer, back in touched:
        reads, writes = (
            frozenset().union(
                *(fields_of(topology, use) for use in uses if (use.buffer, use.back) == (buffer, back))
            )
            for uses in (node.reads, node.writes)
        )
        yield buffer, Access(name, back, reads, writes)


def path_of(topology: Topology, access: Access, buffer: str, fields: frozenset[str]) -> tuple[str | int, ...]:
    """Where the access to one of `fields` is declared, as a path for `Topology.place`."""
    node = topology.nodes[access.node]
    ports: tuple[Ports, ...] = ("writes", "reads") if fields & access.writes else ("reads", "writes")
    for port in ports:
        for index, use in enumerate(getattr(node, port)):
            if (use.buffer, use.back) == (buffer, access.back) and fields & fields_of(topology, use):
                return ("nodes", access.node, port, index)
    return ("nodes", access.node)


def spelt(buffer: str, fields: frozenset[str], covered: int) -> str:
    """A buffer, with the field concerned where that is one of several that the buffer has."""
    name = next(iter(fields)) if len(fields) == 1 and covered > 1 else ""
    return f"`{buffer}.{name}`" if name else f"`{buffer}`"
