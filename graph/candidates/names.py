"""Names that refer to nothing, corrected to near ones that exist, or taken away: LF003 and LF005."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from graph.candidates.changes import Change, program
from graph.diagnostics import Diagnostic
from graph.edits import Edit, Remove, Rename, Set
from graph.rules.names import NEAR
from graph.rules.types import DTYPES
from graph.topology import Edge, EdgeKey, Entry, Node, TensorType, Topology, Use


@dataclass(frozen=True)
class _Correction:
    """One place where a name stands, and what it may be instead."""

    name: str
    known: Collection[str]
    path: tuple[str, ...]
    nodes: tuple[str, ...] = ()

    def edits(self, topology: Topology, instead: str) -> tuple[Edit, ...]:
        section, *rest = self.path
        if section == "edges" and len(rest) == 1:
            key = next(key for key in topology.edges if str(key) == rest[0])
            ends = EdgeKey(
                instead if key.producer == self.name else key.producer,
                key.back,
                instead if key.consumer == self.name else key.consumer,
            )
            return (Rename(self.path, str(ends)),)
        if section == "costs":
            return (Rename(self.path, instead),)
        value = _value(topology, self.path)
        if isinstance(value, str):
            return (Set(self.path, instead),)
        return (Set(self.path, [_renamed(one, self.name, instead) for one in value]),)


def unknown_names(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF003: the near names, nearest first; last, the reference goes. What is far off is for a person to say."""
    for place in _places(topology):
        if place.name in place.known or f"`{place.name}`" not in diagnostic.message:
            continue
        if diagnostic.path != place.path:
            continue
        for rank, instead in enumerate([*_nearest(place.name, place.known), *_renamed_end(topology, place)]):
            where = ".".join(place.path)
            text = f"write `{instead}` instead of `{place.name}` in `{where}`"
            try:
                yield Change(place.edits(topology, instead), text, 10 + 2 * rank)
            except ValueError:
                continue
        yield from _dropped(topology, place)


def _dropped(topology: Topology, place: _Correction) -> Iterator[Change]:
    section, name, *rest = place.path
    if section == "lanes":
        entries = [entry for entry in topology.lanes[name].nodes if entry.node != place.name]
        yield program(topology, name, entries, f"take `{place.name}` off lane `{name}`", 50)
    elif section == "routes":
        kept = [node for node in topology.routes[name] if node != place.name]
        yield Change((Set(("routes", name), kept),), f"take `{place.name}` out of route `{name}`", 50)
    elif section == "costs" or (section == "edges" and not rest and not _hands_on(topology, name)):
        yield Change((Remove(place.path),), f"remove `{name}` from `{section}`", 55)


def _hands_on(topology: Topology, key: str) -> bool:
    """Whether something goes along the edge: where it should go instead nobody but the author knows."""
    edge = next(edge for one, edge in topology.edges.items() if str(one) == key)
    return bool(edge.carries or edge.lends or edge.value)


def _renamed_end(topology: Topology, place: _Correction) -> Iterator[str]:
    """For an edge's end that is named after a kind: the one node of that kind, where it has no edge at that end."""
    if place.path[0] != "edges" or len(place.path) != 2:
        return
    of_kind = [name for name, node in topology.nodes.items() if node.kind == place.name]
    broken = next(key for key in topology.edges if str(key) == place.path[1])
    ends = {key.producer if broken.producer == place.name else key.consumer for key in topology.edges}
    if len(of_kind) == 1 and of_kind[0] not in ends:
        yield of_kind[0]


def _places(topology: Topology) -> Iterator[_Correction]:
    for name, buffer in topology.buffers.items():
        yield _Correction(buffer.type, topology.types, ("buffers", name, "type"))
    for name, node in topology.nodes.items():
        yield from _of_node(topology, name, node)
    for key, edge in topology.edges.items():
        yield from _of_edge(topology, key, edge)
    for name, lane in topology.lanes.items():
        for entry in lane.nodes:
            yield _Correction(entry.node, topology.nodes, ("lanes", name, "nodes"))
    for route, members in topology.routes.items():
        for member in members:
            yield _Correction(member, topology.nodes, ("routes", route))
    for member in topology.costs:
        yield _Correction(member, topology.nodes, ("costs", member))


def _of_node(topology: Topology, name: str, node: Node) -> Iterator[_Correction]:
    for port in ("acquires", "releases"):
        for one in getattr(node, port):
            yield _Correction(one, topology.buffers, ("nodes", name, port), (name,))
    for port in ("reads", "writes"):
        for use in getattr(node, port):
            yield _Correction(use.buffer, topology.buffers, ("nodes", name, port), (name,))
            if (
                use.field
                and use.buffer in topology.buffers
                and topology.buffers[use.buffer].type in topology.types
            ):
                yield _Correction(use.field, topology.fields(use.buffer), ("nodes", name, port), (name,))


def _of_edge(topology: Topology, key: EdgeKey, edge: Edge) -> Iterator[_Correction]:
    path = ("edges", str(key))
    ends = tuple(dict.fromkeys((key.producer, key.consumer)))
    nodes = tuple(end for end in ends if end in topology.nodes)
    for end in ends:
        yield _Correction(end, topology.nodes, path, nodes)
    for part in ("carries", "lends"):
        for one in getattr(edge, part):
            yield _Correction(one, topology.buffers, (*path, part), nodes)
    for part in ("value", "type"):
        if getattr(edge, part) is not None:
            yield _Correction(getattr(edge, part), topology.types, (*path, part), nodes)


def misread_types(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF005: the nearest dtype or dimension that exists; a size is not for us to guess."""
    for name, declared in topology.types.items():
        if isinstance(declared, str):
            continue
        for field, tensor in declared.items():
            if f"`{name}.{field}`" not in diagnostic.message:
                continue
            for text, changed in _retyped(topology, tensor):
                yield Change(
                    (Set(("types", name, field), str(changed)),), f"write `{name}.{field}: {text}`", 10
                )


def _retyped(topology: Topology, tensor: TensorType) -> Iterator[tuple[str, TensorType]]:
    changed: list[TensorType] = []
    if tensor.dtype not in DTYPES:
        changed += [
            tensor._replace(dtype=near) for near in difflib.get_close_matches(tensor.dtype, DTYPES, 3)
        ]
    for dim in tensor.dims:
        if isinstance(dim, str) and dim not in topology.dims:
            for near in difflib.get_close_matches(dim, topology.dims, 3):
                changed.append(
                    tensor._replace(dims=tuple(near if one == dim else one for one in tensor.dims))
                )
    for one in changed:
        yield str(one), one


def _nearest(name: str, known: Collection[str]) -> list[str]:
    alike = {one: difflib.SequenceMatcher(None, name, one).ratio() for one in known}
    return sorted((one for one in known if alike[one] >= NEAR), key=lambda one: -alike[one])


def _value(topology: Topology, path: tuple[str, ...]) -> Any:
    section, name, *rest = path
    if section == "edges":
        key = next(key for key in topology.edges if str(key) == name)
        return getattr(topology.edges[key], rest[0])
    value = getattr(topology, section)[name]
    return getattr(value, rest[0]) if rest else value


def _renamed(one: object, name: str, instead: str) -> str:
    if isinstance(one, Use):
        if one.buffer == name:
            return str(one._replace(buffer=instead))
        return str(one._replace(field=instead) if one.field == name else one)
    if isinstance(one, Entry):
        return str(one._replace(node=instead) if one.node == name else one)
    return instead if one == name else str(one)
