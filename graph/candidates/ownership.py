"""Changes that complete a slot's way from its acquirer to its release: LF201-LF203."""

from __future__ import annotations

from collections.abc import Iterator

from graph.candidates.changes import (
    USES,
    Change,
    Port,
    edge,
    handed_otherwise,
    unvisited,
    visited,
    with_port,
    without_edge,
    without_port,
)
from graph.candidates.custody import handed_on, owners
from graph.candidates.ordering import acquired_by
from graph.diagnostics import Diagnostic
from graph.edits import Set
from graph.topology import EdgeKey, Topology

ACQUIRING = ("prepare", "bind", "dispatch")


def miscounts(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF201: acquired once and released once in the route."""
    buffer = diagnostic.buffer
    if buffer is None:
        return
    route = diagnostic.route or next(iter(topology.steps_routes()))
    members = topology.steps_routes()[route]
    takers = [node for node in topology.acquirers(buffer) if node in members]
    givers = [node for node in topology.releasers(buffer) if node in members]
    users = [node for node in diagnostic.nodes if node in members and node not in (*takers, *givers)]
    if not takers:
        yield from _acquired(topology, buffer, route, users or givers)
    elif not givers:
        yield from _released(topology, buffer, route, takers[0])
    yield from _once(topology, buffer, route, takers, givers)
    if not topology.acquirers(buffer) and not topology.releasers(buffer):
        yield Change(
            (Set(("buffers", buffer, "persistent"), True),), f"write `persistent: true` on `{buffer}`", 26
        )
    if topology.routes and (not takers or not givers):
        involved = [node for node in members if node in (*takers, *givers, *users)]
        yield unvisited(topology, route, involved)
    if not takers:
        for node in users:
            for port in USES:
                if any((use.buffer, use.back) == (buffer, 0) for use in getattr(topology.nodes[node], port)):
                    yield without_port(topology, node, port, buffer)


def _acquired(topology: Topology, buffer: str, route: str, users: list[str]) -> Iterator[Change]:
    elsewhere = topology.acquirers(buffer)
    if topology.routes:
        for node in elsewhere:
            yield visited(topology, route, node)
            for giver in topology.releasers(buffer):
                if giver not in topology.routes[route]:
                    both = visited(topology, route, node) + visited(topology, route, giver)
                    yield both.costing(20)
    if not elsewhere:
        writers = [
            name
            for name in topology.nodes
            if any(use.buffer == buffer for use in topology.nodes[name].writes)
        ]
        for node in dict.fromkeys((*writers, *users, *topology.nodes)):
            if topology.nodes[node].kind in ACQUIRING:
                yield with_port(topology, node, "acquires", buffer)


def _released(topology: Topology, buffer: str, route: str, taker: str) -> Iterator[Change]:
    if topology.routes:
        for node in topology.releasers(buffer):
            yield visited(topology, route, node)
    for node, declared in topology.nodes.items():
        if (
            declared.kind == "release"
            and node in topology.steps_routes()[route]
            and buffer not in declared.releases
        ):
            release = with_port(topology, node, "releases", buffer)
            for way in handed_on(topology, buffer, taker, node):
                yield (release + way).costing(release.cost + way.cost // 2)
            yield release


def _once(
    topology: Topology, buffer: str, route: str, takers: list[str], givers: list[str]
) -> Iterator[Change]:
    turns: tuple[tuple[Port, list[str]], ...] = (("acquires", takers), ("releases", givers))
    for port, nodes in turns:
        if len(nodes) > 1:
            for node in nodes:
                if topology.routes:
                    yield unvisited(topology, route, [node]).costing(13)
                change = without_port(topology, node, port, buffer)
                yield change.costing(16)
        for node in nodes:
            named = getattr(topology.nodes[node], port)
            if named.count(buffer) > 1:
                kept = Set(("nodes", node, port), list(dict.fromkeys(named)))
                yield Change((kept,), f"name `{buffer}` once in what `{node}` {port}", 8)


def unheld(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF202: the node gets what it uses, carries or lends."""
    buffer, node = diagnostic.buffer, diagnostic.nodes[0]
    if buffer is None:
        return
    yield from _given(topology, buffer, node)
    yield from _carried_to(topology, buffer, node)
    yield from _handed_on_by_others(topology, buffer, diagnostic)
    if topology.nodes[node].kind in ACQUIRING and buffer not in topology.nodes[node].acquires:
        yield acquired_by(topology, node, buffer)
    yield from _moved(topology, buffer, node)


def _given(topology: Topology, buffer: str, node: str) -> Iterator[Change]:
    """An edge that lends the slot, from each owner, those that write it first."""
    uses = (*topology.nodes[node].reads, *topology.nodes[node].writes)
    backs = dict.fromkeys(use.back for use in uses if use.buffer == buffer)
    givers = owners(topology, buffer)
    writers = [name for name in givers if any(use.buffer == buffer for use in topology.nodes[name].writes)]
    for back in backs:
        for giver in dict.fromkeys((*writers, *givers)):
            if made := edge(topology, EdgeKey(giver, back, node), lends=[buffer]):
                yield made


def _carried_to(topology: Topology, buffer: str, node: str) -> Iterator[Change]:
    for owner in owners(topology, buffer):
        if owner != node:
            yield from handed_on(topology, buffer, owner, node)


def _handed_on_by_others(topology: Topology, buffer: str, diagnostic: Diagnostic) -> Iterator[Change]:
    """An edge that hands on what its producer has not got: hands on less, or nothing."""
    for key, known in topology.edges.items():
        if key.producer in diagnostic.nodes and buffer in (*known.carries, *known.lends):
            if buffer in known.carries:
                yield handed_otherwise(topology, key, buffer, "lends")
            yield handed_otherwise(topology, key, buffer, None)


def _moved(topology: Topology, buffer: str, node: str) -> Iterator[Change]:
    """The use made by a node of the same kind or next to it that holds the slot; last, not made at all."""
    declared = topology.nodes[node]
    for port in USES:
        for use in dict.fromkeys(use for use in getattr(declared, port) if use.buffer == buffer):
            gone = without_port(topology, node, port, buffer, use.back)
            for other, there in topology.nodes.items():
                if other != node and there.kind in ("prepare", "bind", declared.kind):
                    made = with_port(topology, other, port, use)
                    lent = any(
                        (key.back, key.consumer) == (use.back, other)
                        and buffer in (*known.lends, *known.carries)
                        for key, known in topology.edges.items()
                    )
                    text = f"let `{other}` {port.removesuffix('s')} `{use}` instead of `{node}`"
                    yield Change((*gone.edits, *made.edits), text, 18 if lent else 40)
            yield gone


def misdirected(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF203: each owner hands on once, within the step, and the last one releases."""
    buffer = diagnostic.buffer
    if buffer is None:
        return
    carrying = [key for key, known in topology.edges.items() if buffer in known.carries]
    for key in carrying:
        if key.back:
            yield handed_otherwise(topology, key, buffer, "lends")
        elif len([other for other in carrying if other.producer == key.producer]) > 1:
            yield handed_otherwise(topology, key, buffer, "lends")
            yield handed_otherwise(topology, key, buffer, None).costing(16)
    for release in topology.releasers(buffer):
        for owner in reversed(owners(topology, buffer)):
            yield from handed_on(topology, buffer, owner, release)
        for owner in owners(topology, buffer):
            if topology.nodes[owner].kind == "release" and owner != release:
                gone = without_port(topology, release, "releases", buffer)
                made = with_port(topology, owner, "releases", buffer)
                yield Change(
                    (*gone.edits, *made.edits), f"release `{buffer}` in `{owner}` instead of `{release}`", 16
                )
    for key in carrying:
        if key.back:
            yield handed_otherwise(topology, key, buffer, None)
            yield without_edge(key)
