"""LF003: every name refers to something that the file declares."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator

from graph.diagnostics import Diagnostic
from graph.topology import Topology, Use

Path = tuple[str | int, ...]


def names(topology: Topology) -> Iterator[Diagnostic]:
    """One diagnostic for each place at which a name refers to nothing."""
    yield from _in_buffers(topology)
    yield from _in_nodes(topology)
    yield from _in_edges(topology)
    yield from _of_nodes(topology)


def unknown(
    topology: Topology, what: str, name: str, known: Collection[str], path: Path, nodes: tuple[str, ...] = ()
) -> Diagnostic:
    """The LF003 diagnostic, with the nearest of the `known` names."""
    close = difflib.get_close_matches(name, known, 1, cutoff=0.5)
    listed = f"declared: {', '.join(f'`{one}`' for one in known)}" if known else f"no {what} is declared"
    mend = f"did you mean `{close[0]}`?" if close else listed
    return Diagnostic(topology.place(*path), "LF003", f"no {what} is called `{name}`", mend, nodes=nodes)


def _in_buffers(topology: Topology) -> Iterator[Diagnostic]:
    for name, buffer in topology.buffers.items():
        if buffer.type not in topology.types:
            yield unknown(topology, "type", buffer.type, topology.types, ("buffers", name, "type"))


def _in_nodes(topology: Topology) -> Iterator[Diagnostic]:
    for name, node in topology.nodes.items():
        for port in ("acquires", "releases"):
            for index, buffer in enumerate(getattr(node, port)):
                if buffer not in topology.buffers:
                    path = ("nodes", name, port, index)
                    yield unknown(topology, "buffer", buffer, topology.buffers, path, (name,))
        for port in ("reads", "writes"):
            for index, use in enumerate(getattr(node, port)):
                yield from _in_use(topology, use, name, ("nodes", name, port, index))


def _in_use(topology: Topology, use: Use, node: str, path: Path) -> Iterator[Diagnostic]:
    buffer = topology.buffers.get(use.buffer)
    if buffer is None:
        yield unknown(topology, "buffer", use.buffer, topology.buffers, path, (node,))
    elif use.field is not None and buffer.type in topology.types:
        fields = topology.fields(use.buffer)
        if use.field not in fields:
            yield unknown(topology, f"field of `{use.buffer}`", use.field, fields, path, (node,))


def _in_edges(topology: Topology) -> Iterator[Diagnostic]:
    for key, edge in topology.edges.items():
        ends = dict.fromkeys((key.producer, key.consumer))
        nodes = tuple(end for end in ends if end in topology.nodes)
        start = ("edges", str(key))
        for end in ends:
            if end not in topology.nodes:
                yield unknown(topology, "node", end, topology.nodes, start, nodes)
        for part in ("carries", "lends"):
            for index, buffer in enumerate(getattr(edge, part)):
                if buffer not in topology.buffers:
                    yield unknown(topology, "buffer", buffer, topology.buffers, (*start, part, index), nodes)
        for part in ("value", "type"):
            name = getattr(edge, part)
            if name is not None and name not in topology.types:
                yield unknown(topology, "type", name, topology.types, (*start, part), nodes)


def _of_nodes(topology: Topology) -> Iterator[Diagnostic]:
    """Lanes, routes and costs name nodes and nothing else."""
    named: list[tuple[str, Path]] = []
    for lane, program in topology.lanes.items():
        named += [(entry.node, ("lanes", lane, "nodes", index)) for index, entry in enumerate(program.nodes)]
    for route, members in topology.routes.items():
        named += [(node, ("routes", route, index)) for index, node in enumerate(members)]
    named += [(node, ("costs", node)) for node in topology.costs]
    for node, path in named:
        if node not in topology.nodes:
            yield unknown(topology, "node", node, topology.nodes, path)
