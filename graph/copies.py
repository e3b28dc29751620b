"""Which dispatches only move a record from one memory to another.

An accelerator copies beside its computing, so a copy neither takes turns with it nor is a step's device work.
"""

from __future__ import annotations

from graph.topology import Topology


def copies(topology: Topology) -> frozenset[str]:
    """Dispatches that read one record and write one of its type in another place."""
    return frozenset(name for name in topology.nodes if _copies(topology, name))


def computing(topology: Topology) -> tuple[str, ...]:
    """The other dispatches, in the order of the file."""
    moved = copies(topology)
    return tuple(
        name for name, node in topology.nodes.items() if node.kind == "dispatch" and name not in moved
    )


def _copies(topology: Topology, name: str) -> bool:
    node = topology.nodes[name]
    read, written = {use.buffer for use in node.reads}, {use.buffer for use in node.writes}
    if node.kind != "dispatch" or len(read) != 1 or len(written) != 1:
        return False
    source, target = (topology.buffers[buffer] for buffer in (*read, *written))
    return source.type == target.type and source.place != target.place
