"""LF003: every name refers to something that the file declares."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from graph.diagnostics import Diagnostic, Location
from graph.topology import Topology, Use

Path = tuple[str | int, ...]


MOST_NEAREST = 32
"""Unknown names for which the nearest is looked for: that is slow, and a file may hold thousands."""
MOST_LISTED = 12
NEAR = 0.5
"""How alike a name must be to be the natural correction."""


class Unknown(NamedTuple):
    """A name at `path` that refers to none of the `known` ones."""

    what: str
    name: str
    known: Collection[str]
    path: Path
    nodes: tuple[str, ...] = ()


def names(topology: Topology) -> Iterator[Diagnostic]:
    """One diagnostic for each place at which a name refers to nothing."""
    unknown = chain(_in_buffers(topology), _in_nodes(topology), _in_edges(topology), _of_nodes(topology))
    for index, one in enumerate(unknown):
        yield told(one, topology.place(*one.path), near=index < MOST_NEAREST)


def told(unknown: Unknown, place: Location, *, near: bool = True) -> Diagnostic:
    """The finding; `near` looks for the name that may have been meant."""
    mend = _nearest(unknown.name, tuple(unknown.known)) if near else ""
    message = f"no {unknown.what} is called `{unknown.name}`"
    path = tuple(part for part in unknown.path if isinstance(part, str))
    return Diagnostic(place, "LF003", message, mend or _listed(unknown), nodes=unknown.nodes, path=path)


@lru_cache(maxsize=1024)  # looking for a mend checks the same names many times
def _nearest(name: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, known, 1, cutoff=NEAR)
    return f"did you mean `{close[0]}`?" if close else ""


def _listed(unknown: Unknown) -> str:
    if not unknown.known:
        return f"no {unknown.what} is declared"
    more = len(unknown.known) - MOST_LISTED
    listed = ", ".join(f"`{one}`" for one in islice(unknown.known, MOST_LISTED))
    return f"declared: {listed}" + (f" and {more} more" if more > 0 else "")


def _in_buffers(topology: Topology) -> Iterator[Unknown]:
    for name, buffer in topology.buffers.items():
        if buffer.type not in topology.types:
            yield Unknown("type", buffer.type, topology.types, ("buffers", name, "type"))


def _in_nodes(topology: Topology) -> Iterator[Unknown]:
    for name, node in topology.nodes.items():
        for port in ("acquires", "releases"):
            for index, buffer in enumerate(getattr(node, port)):
                if buffer not in topology.buffers:
                    path = ("nodes", name, port, index)
                    yield Unknown("buffer", buffer, topology.buffers, path, (name,))
        for port in ("reads", "writes"):
            for index, use in enumerate(getattr(node, port)):
                yield from _in_use(topology, use, name, ("nodes", name, port, index))


def _in_use(topology: Topology, use: Use, node: str, path: Path) -> Iterator[Unknown]:
    buffer = topology.buffers.get(use.buffer)
    if buffer is None:
        yield Unknown("buffer", use.buffer, topology.buffers, path, (node,))
    elif use.field is not None and buffer.type in topology.types:
        fields = topology.fields(use.buffer)
        if use.field not in fields:
            yield Unknown(f"field of `{use.buffer}`", use.field, fields, path, (node,))


def _in_edges(topology: Topology) -> Iterator[Unknown]:
    for key, edge in topology.edges.items():
        ends = dict.fromkeys((key.producer, key.consumer))
        nodes = tuple(end for end in ends if end in topology.nodes)
        start = ("edges", str(key))
        for end in ends:
            if end not in topology.nodes:
                yield Unknown("node", end, topology.nodes, start, nodes)
        for part in ("carries", "lends"):
            for index, buffer in enumerate(getattr(edge, part)):
                if buffer not in topology.buffers:
                    yield Unknown("buffer", buffer, topology.buffers, (*start, part, index), nodes)
        for part in ("value", "type"):
            name = getattr(edge, part)
            if name is not None and name not in topology.types:
                yield Unknown("type", name, topology.types, (*start, part), nodes)


def _of_nodes(topology: Topology) -> Iterator[Unknown]:
    """Lanes, routes and costs name nodes and nothing else."""
    named: list[tuple[str, Path]] = []
    for lane, program in topology.lanes.items():
        named += [(entry.node, ("lanes", lane, "nodes", index)) for index, entry in enumerate(program.nodes)]
    for route, members in topology.routes.items():
        named += [(node, ("routes", route, index)) for index, node in enumerate(members)]
    named += [(node, ("costs", node)) for node in topology.costs]
    for node, path in named:
        if node not in topology.nodes:
            yield Unknown("node", node, topology.nodes, path)
