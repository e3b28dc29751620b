"""LF101-LF105: lanes, the order within a step, kinds, types on edges, nodes that no route visits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import networkx as nx

from graph.diagnostics import Diagnostic, Location
from graph.rules.cycles import components
from graph.topology import EdgeKey, Kind, Node, Topology


def structure(topology: Topology) -> Iterator[Diagnostic]:
    """LF101-LF104."""
    yield from _lanes(topology)
    yield from _cycles(topology)
    for name, node in topology.nodes.items():
        yield from _kind(topology, name, node)
    yield from _edge_types(topology)


def _lanes(topology: Topology) -> Iterator[Diagnostic]:
    """LF101."""
    found: dict[str, list[tuple[str, Location]]] = defaultdict(list)
    for lane, program in topology.lanes.items():
        for index, entry in enumerate(program.nodes):
            found[entry.node].append((lane, topology.place("lanes", lane, "nodes", index)))
    for node in topology.nodes:
        entries = found[node]
        if not entries:
            message = f"`{node}` is on no lane, so nothing would ever run it"
            mend = f"add `{node}` to a lane"
            yield Diagnostic(topology.place("nodes", node), "LF101", message, mend, nodes=(node,))
        elif len(entries) > 1:
            lanes = " and ".join(f"`{lane}`" for lane in dict.fromkeys(lane for lane, _ in entries))
            message = (
                f"`{node}` has {len(entries)} entries, on {lanes}: it would run that often in every turn"
            )
            yield Diagnostic(entries[1][1], "LF101", message, "keep one of the entries", nodes=(node,))


def _cycles(topology: Topology) -> Iterator[Diagnostic]:
    """LF102."""
    for cycle, rest in components(step_edges(topology)):
        way = " -> ".join(f"`{node}`" for node in (*cycle, cycle[0]))
        keys = [
            EdgeKey(first, 0, second) for first, second in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
        ]
        last = max(keys, key=lambda key: topology.place("edges", key))
        yield Diagnostic(
            topology.place("edges", last),
            "LF102",
            f"the edges of one step form a cycle, so it can never start: {way}",
            f"take one of them from the step before, as in `{last.producer}@1 -> {last.consumer}`",
            nodes=(*cycle, *rest),
        )


def step_edges(topology: Topology) -> nx.DiGraph[str]:
    """The edges within one step as a graph."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from((key.producer, key.consumer) for key in topology.edges if key.back == 0)
    return graph


def _kind(topology: Topology, name: str, node: Node) -> Iterator[Diagnostic]:
    """LF103."""

    def fault(path: tuple[str | int, ...], what: str, mend: str, buffer: str | None = None) -> Diagnostic:
        at = topology.place("nodes", name, *path)
        return Diagnostic(
            at, "LF103", f"`{name}` is a {node.kind} node and {what}", mend, nodes=(name,), buffer=buffer
        )

    if node.kind == "release":
        for index, buffer in enumerate(node.acquires):
            mend = f"let the node that first uses `{buffer}` acquire it"
            yield fault(("acquires", index), f"acquires `{buffer}`", mend, buffer)
    if node.kind != "release":
        for index, buffer in enumerate(node.releases):
            mend = f"release `{buffer}` in a release node, which is never passed for failure"
            yield fault(("releases", index), f"releases `{buffer}`", mend, buffer)
    seen: set[str] = set()
    for index, use in enumerate(node.writes):
        if not _may_write(topology, node.kind, use.buffer) and use.buffer not in seen:
            seen.add(use.buffer)
            place = topology.buffers[use.buffer].place
            what = f"writes `{use.buffer}`" + (" on the device" if place == "device" else "")
            mend = f"write `{use.buffer}` in a dispatch node"
            yield fault(("writes", index), what, mend, use.buffer)
    if node.emits is not None and node.kind != "reclaim":
        yield fault(("emits",), f"emits `{node.emits}`", "emit from a reclaim node")


def _may_write(topology: Topology, kind: Kind, name: str) -> bool:
    buffer = topology.buffers[name]
    if kind == "dispatch":
        return True
    if kind == "release":
        return buffer.keyed_by == "request"
    return buffer.place != "device"


def _edge_types(topology: Topology) -> Iterator[Diagnostic]:
    """LF104."""
    for key, edge in topology.edges.items():
        if edge.type is None:
            continue
        for buffer in dict.fromkeys((*edge.carries, *edge.lends)):
            declared = topology.buffers[buffer].type
            if declared != edge.type:
                yield Diagnostic(
                    topology.place("edges", key, "type"),
                    "LF104",
                    f"`{key}` declares `{edge.type}`; `{buffer}` has `{declared}`",
                    f"write `type: {declared}`, or drop it",
                    nodes=(key.producer, key.consumer),
                    buffer=buffer,
                )


def unvisited(topology: Topology) -> Iterator[Diagnostic]:
    """LF105, for a topology without errors: a node that an error left without a route is not told twice."""
    visited = {node for members in topology.steps_routes().values() for node in members}
    for node in topology.nodes:
        if node not in visited:
            yield Diagnostic(
                topology.place("nodes", node),
                "LF105",
                f"`{node}` is in no route, so no step ever visits it",
                f"add `{node}` to a route, or remove it",
                severity="warning",
                nodes=(node,),
            )
