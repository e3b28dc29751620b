"""Changes to lanes, kinds, cycles, types on edges, routes (LF101-LF105) and persistent buffers (LF002)."""

from __future__ import annotations

from collections.abc import Iterator

from graph.candidates.changes import (
    USES,
    Change,
    Port,
    edge,
    entries_of,
    handed_otherwise,
    placed,
    program,
    stepped_back,
    visited,
    with_port,
    without_edge,
    without_port,
)
from graph.candidates.custody import owners
from graph.diagnostics import Diagnostic
from graph.edits import Remove, Set
from graph.topology import KINDS, EdgeKey, Kind, Topology

FITTING: dict[Port, tuple[Kind, ...]] = {
    "acquires": ("prepare", "bind", "dispatch"),
    "releases": ("release",),
    "writes": ("dispatch",),
}
"""The kinds that may always do it."""


def lanes(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF101: on exactly one lane."""
    node = diagnostic.nodes[0]
    entries = entries_of(topology, node)
    if entries:
        yield from _kept_once(topology, node)
        return
    near = [key.consumer for key in topology.edges if key.producer == node and key.back == 0]
    near += [key.producer for key in topology.edges if key.consumer == node and key.back == 0]
    close = [lane for other in near for lane, _ in entries_of(topology, other)]
    for rank, lane in enumerate(dict.fromkeys((*close, *topology.lanes))):
        members = topology.lanes[lane].nodes
        places = [
            place for place, entry in enumerate(members) if EdgeKey(node, 0, entry.node) in topology.edges
        ]
        places += [
            place + 1 for place, entry in enumerate(members) if EdgeKey(entry.node, 0, node) in topology.edges
        ]
        for place in dict.fromkeys((*places, len(members), 0)):
            beside = members[min(place, len(members) - 1)].lag if members else 0
            for lag in dict.fromkeys((beside, 0)):
                yield placed(topology, node, lane, place, lag).costing(12 + rank + (place not in places))
    yield Change((Set(("lanes", node), {"nodes": [node]}),), f"give `{node}` a lane of its own", 30)


def _kept_once(topology: Topology, node: str) -> Iterator[Change]:
    entries = entries_of(topology, node)
    for kept_lane, kept in entries:
        edits: list[Change] = []
        for lane, declared in topology.lanes.items():
            rest = [one for one in declared.nodes if one.node != node or (lane, one) == (kept_lane, kept)]
            if lane == kept_lane and rest.count(kept) > 1:
                last = len(rest) - 1 - rest[::-1].index(kept)
                rest = [one for place, one in enumerate(rest) if one != kept or place == last]
            if len(rest) < len(declared.nodes):
                edits.append(program(topology, lane, rest, "", 0))
        text = f"keep `{node}` on lane `{kept_lane}` alone"
        emptied = sum(isinstance(edit, Remove) for change in edits for edit in change.edits)
        yield Change(tuple(edit for change in edits for edit in change.edits), text, 10 + emptied)


def circle(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF102: one edge of the cycle from the step before, or gone; those that only order first."""
    members = set(diagnostic.nodes)
    inside = [key for key in topology.edges if key.back == 0 and {key.producer, key.consumer} <= members]
    for rank, key in enumerate(reversed(inside)):
        known = topology.edges[key]
        plain = not (known.carries or known.lends or known.value)
        if (back := stepped_back(topology, key, 1)) and not known.carries:
            yield back.costing(12 + rank if plain else 24 + rank)
        yield without_edge(key).costing(40 + rank if plain else 70 + rank)


def beyond_kind(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF103: another node of a fitting kind does it, or the node is of another kind."""
    node, buffer = diagnostic.nodes[0], diagnostic.buffer
    declared = topology.nodes[node]
    if buffer is not None:
        turns: tuple[Port, ...] = ("acquires", "releases", "writes")
        for port in turns:
            uses = [use for use in getattr(declared, port) if buffer in (use, getattr(use, "buffer", None))]
            if uses:
                yield from _done_elsewhere(topology, node, port, buffer)
    elif declared.emits is not None:
        gone = Remove(("nodes", node, "emits"))
        for other, there in topology.nodes.items():
            if there.kind == "reclaim" and there.emits is None:
                moved = Set(("nodes", other, "emits"), declared.emits)
                yield Change((gone, moved), f"let `{other}` emit `{declared.emits}` instead of `{node}`", 16)
        yield Change((gone,), f"take `emits` away from `{node}`", 40)
    for kind in KINDS:
        if kind != declared.kind:
            yield Change((Set(("nodes", node, "kind"), kind),), f"make `{node}` a {kind} node", 30)


def _done_elsewhere(topology: Topology, node: str, port: Port, buffer: str) -> Iterator[Change]:
    fitting = {
        "acquires": ("prepare", "bind", "dispatch"),
        "releases": ("release",),
        "writes": ("dispatch",),
    }[port]
    gone = without_port(topology, node, port, buffer)
    others = [name for name, there in topology.nodes.items() if there.kind in fitting and name != node]
    verb = port.removesuffix("s")
    for other in sorted(others, key=lambda name: name not in owners(topology, buffer)):
        if any(buffer in (use, getattr(use, "buffer", None)) for use in getattr(topology.nodes[other], port)):
            text = f"leave it to `{other}`: take `{buffer}` out of what `{node}` {port}"
            yield Change(gone.edits, text, 12)
            continue
        made = with_port(topology, other, port, buffer)
        moved = Change((*gone.edits, *made.edits), f"let `{other}` {verb} `{buffer}` instead of `{node}`", 14)
        if port == "releases" and (carried := edge(topology, EdgeKey(node, 0, other), carries=[buffer])):
            yield (moved + carried).costing(16)
        yield moved
    yield gone.costing(45)


def edge_type(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF104: the type that the buffer has, the declared one as a value beside it, or none."""
    key = next(
        key
        for key, known in topology.edges.items()
        if known.type is not None
        and (key.producer, key.consumer) == diagnostic.nodes[:2]
        and diagnostic.buffer in (*known.carries, *known.lends)
        and topology.buffers[diagnostic.buffer or ""].type != known.type
    )
    known = topology.edges[key]
    types = dict.fromkeys(topology.buffers[name].type for name in (*known.carries, *known.lends))
    path = ("edges", str(key))
    declared = known.type or ""
    if topology.types.get(declared) == "value" and known.value is None:
        yield Change(
            (Remove((*path, "type")), Set((*path, "value"), declared)),
            f"write `value: {declared}` on `{key}`",
            8,
        )
    for name in types:
        yield Change((Set((*path, "type"), name),), f"write `type: {name}` on `{key}`", 10)
    yield Change((Remove((*path, "type")),), f"drop `type` from `{key}`", 14)


def unrouted(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF105: in one route, in all, or not in the file."""
    node = diagnostic.nodes[0]
    for route in topology.routes:
        yield visited(topology, route, node)
    edits = tuple(edit for route in topology.routes for edit in visited(topology, route, node).edits)
    yield Change(edits, f"add `{node}` to every route", 20)
    gone = [Remove(("nodes", node))]
    gone += [Remove(("edges", str(key))) for key in topology.edges if node in (key.producer, key.consumer)]
    gone += [Remove(("costs", node))] if node in topology.costs else []
    off = tuple(
        edit
        for lane, declared in topology.lanes.items()
        if any(entry.node == node for entry in declared.nodes)
        for edit in program(topology, lane, [one for one in declared.nodes if one.node != node], "", 0).edits
    )
    yield Change((*gone, *off), f"remove `{node}`", 60)


def persistence(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF002 of a persistent buffer: what it may not have goes."""
    name = diagnostic.buffer
    if name is None:
        return
    buffer = topology.buffers[name]
    if buffer.persistent and buffer.slots != 1:
        yield Change((Remove(("buffers", name, "slots")),), f"drop `slots` of `{name}`", 10)
    if buffer.keyed_by is not None and not buffer.persistent:
        yield Change(
            (Set(("buffers", name, "persistent"), True),), f"write `persistent: true` on `{name}`", 10
        )
        yield Change((Remove(("buffers", name, "keyed_by")),), f"drop `keyed_by` of `{name}`", 12)
    for node in diagnostic.nodes:
        declared = topology.nodes.get(node)
        if declared is None:  # LF003 as well
            continue
        if name in declared.acquires:
            yield without_port(topology, node, "acquires", name).costing(10)
        if name in declared.releases:
            yield without_port(topology, node, "releases", name).costing(10)
        for port in USES:
            uses = getattr(declared, port)
            if any(use.buffer == name and use.back for use in uses):
                now = [str(use._replace(back=0) if use.buffer == name else use) for use in uses]
                text = f"let `{node}` {port.removesuffix('s')} `{name}` without `@n`"
                yield Change((Set(("nodes", node, port), list(dict.fromkeys(now))),), text, 10)
    for key, known in topology.edges.items():
        if name in (*known.carries, *known.lends) and (
            key.producer in diagnostic.nodes or not diagnostic.nodes
        ):
            yield handed_otherwise(topology, key, name, None).costing(10)
