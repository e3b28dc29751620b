"""LF002 beyond what the models can see: a persistent buffer has one instance and no tenure."""

from __future__ import annotations

from collections.abc import Iterator

from graph.diagnostics import Diagnostic
from graph.topology import Topology

Path = tuple[str | int, ...]


def shape(topology: Topology) -> Iterator[Diagnostic]:
    """Fields that contradict each other, one diagnostic for each place."""
    yield from _declarations(topology)
    yield from _in_nodes(topology)
    yield from _in_edges(topology)


def _declarations(topology: Topology) -> Iterator[Diagnostic]:
    for name, buffer in topology.buffers.items():
        if buffer.persistent and buffer.slots != 1:
            yield Diagnostic(
                topology.place("buffers", name, "slots"),
                "LF002",
                f"`{name}` is persistent, which is one instance, and has {buffer.slots} slots",
                "drop `slots`, or drop `persistent`",
                buffer=name,
            )
        if buffer.keyed_by is not None and not buffer.persistent:
            yield Diagnostic(
                topology.place("buffers", name, "keyed_by"),
                "LF002",
                f"`{name}` is keyed by {buffer.keyed_by} and not persistent: a slot's rows belong to a step",
                "add `persistent: true`, or drop `keyed_by`",
                buffer=name,
            )


def _persistent(topology: Topology, name: str) -> bool:
    return name in topology.buffers and topology.buffers[name].persistent


def _fault(topology: Topology, path: Path, verb: str, buffer: str, nodes: tuple[str, ...]) -> Diagnostic:
    return Diagnostic(
        topology.place(*path),
        "LF002",
        f"`{buffer}` is persistent and {verb}: there is one instance, which is only read and written",
        f"drop `{buffer}` here, or give it slots instead of `persistent: true`",
        nodes=nodes,
        buffer=buffer,
    )


def _in_nodes(topology: Topology) -> Iterator[Diagnostic]:
    for name, node in topology.nodes.items():
        for port, verb in (("acquires", "acquired"), ("releases", "released")):
            for index, buffer in enumerate(getattr(node, port)):
                if _persistent(topology, buffer):
                    yield _fault(topology, ("nodes", name, port, index), verb, buffer, (name,))
        for port in ("reads", "writes"):
            for index, use in enumerate(getattr(node, port)):
                if use.back and _persistent(topology, use.buffer):
                    verb = f"used with `@{use.back}`"
                    yield _fault(topology, ("nodes", name, port, index), verb, use.buffer, (name,))


def _in_edges(topology: Topology) -> Iterator[Diagnostic]:
    for key, edge in topology.edges.items():
        nodes = tuple(dict.fromkeys((key.producer, key.consumer)))
        for part, verb in (("carries", "carried"), ("lends", "lent")):
            for index, buffer in enumerate(getattr(edge, part)):
                if _persistent(topology, buffer):
                    yield _fault(topology, ("edges", str(key), part, index), verb, buffer, nodes)
