"""Changes that have something written before it is read, and rows known by generation: LF208 and LF209."""

from __future__ import annotations

from collections.abc import Iterator

from graph.candidates.changes import (
    USES,
    Change,
    reread,
    unvisited,
    visited,
    with_port,
    without_port,
)
from graph.candidates.custody import owners
from graph.candidates.ordering import ordered
from graph.diagnostics import Diagnostic
from graph.edits import Remove, Set
from graph.topology import Topology, Use


def unwritten(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF208: a writer in front of the reader, in every route of the reader."""
    buffer, reader = diagnostic.buffer, diagnostic.nodes[0]
    if buffer is None:
        return
    uses = [use for use in topology.nodes[reader].reads if use.buffer == buffer]
    writers = [
        name for name, node in topology.nodes.items() if _writes(topology, name, uses) and name != reader
    ]
    routes = [route for route, members in topology.routes.items() if reader in members]
    for writer in writers:
        for route in routes:
            if writer not in topology.routes[route]:
                yield visited(topology, route, writer)
        for back in dict.fromkeys(use.back for use in uses):
            yield from ordered(topology, writer, reader, back)
    yield from _narrower(topology, reader, buffer)
    for use in uses:
        yield from _also_written(topology, reader, use)
    for route in routes:
        yield unvisited(topology, route, [reader]).costing(26)
    for back in dict.fromkeys(use.back for use in uses):
        yield without_port(topology, reader, "reads", buffer, back)


def _writes(topology: Topology, name: str, uses: list[Use]) -> bool:
    read = {(use.buffer, field) for use in uses for field in _fields(topology, use)}
    written = {(use.buffer, field) for use in topology.nodes[name].writes for field in _fields(topology, use)}
    return bool(read & written)


def _fields(topology: Topology, use: Use) -> tuple[str, ...]:
    return (use.field,) if use.field else topology.fields(use.buffer) or ("",)


def _narrower(topology: Topology, reader: str, buffer: str) -> Iterator[Change]:
    """Only the fields that some other node writes, where a whole record is read."""
    written = {
        field
        for name, node in topology.nodes.items()
        if name != reader
        for use in node.writes
        if use.buffer == buffer
        for field in _fields(topology, use)
    }
    reads = topology.nodes[reader].reads
    kept = [
        one
        for use in reads
        for one in (
            [use._replace(field=field) for field in _fields(topology, use) if field in written and field]
            if use.buffer == buffer
            else [use]
        )
    ]
    if set(kept) != set(reads) and any(use.buffer == buffer for use in kept):
        yield reread(topology, reader, "reads", kept)


def _also_written(topology: Topology, reader: str, use: Use) -> Iterator[Change]:
    """A node that holds the slot and may write it does; the acquirer first."""
    kinds = (
        ("dispatch",) if topology.buffers[use.buffer].place == "device" else ("prepare", "bind", "dispatch")
    )
    for name in owners(topology, use.buffer):
        if name != reader and topology.nodes[name].kind in kinds:
            yield with_port(topology, name, "writes", use._replace(back=0)).costing(24)


def anonymous(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF209: the node learns the generation of the rows that it touches."""
    node = diagnostic.nodes[0]
    slots = [name for name, buffer in topology.buffers.items() if not buffer.persistent]
    near = {use.buffer for use in (*topology.nodes[node].reads, *topology.nodes[node].writes)}
    for key, edge in topology.edges.items():
        if key.consumer == node:
            near.update((*edge.carries, *edge.lends))
    for name in sorted(slots, key=lambda name: name not in near):
        known = "generation" in topology.fields(name)
        read = with_port(topology, node, "reads", Use(name, "generation"))
        if known:
            yield read.costing(10 if name in near else 18)
    for name in sorted(slots, key=lambda name: name not in near):
        declared = topology.types[topology.buffers[name].type]
        if not isinstance(declared, str) and "generation" not in declared:
            dims = next((tensor.dims[:1] for tensor in declared.values() if tensor.dims), ())
            field = Set(
                ("types", topology.buffers[name].type, "generation"),
                f"int32[{', '.join(str(dim) for dim in dims)}]",
            )
            read = with_port(topology, node, "reads", Use(name, "generation"))
            record = topology.buffers[name].type
            text = f"give `{record}` a `generation` and let `{node}` read `{name}.generation`"
            yield Change((field, *read.edits), text, 26 if name in near else 34)
    if diagnostic.buffer is None:
        return
    unkeyed = Remove(("buffers", diagnostic.buffer, "keyed_by"))
    yield Change((unkeyed,), f"drop `keyed_by` of `{diagnostic.buffer}`", 60)
    for port in USES:
        if any(use.buffer == diagnostic.buffer for use in getattr(topology.nodes[node], port)):
            yield without_port(topology, node, port, diagnostic.buffer)
