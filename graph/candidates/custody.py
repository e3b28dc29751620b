"""Who owns a slot in the course of a step, and how ownership may get further."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import networkx as nx

from graph.candidates.changes import NOTHING, Change, edge, listed
from graph.topology import EdgeKey, Topology


def owners(topology: Topology, buffer: str) -> list[str]:
    """The nodes that ownership reaches within a step, in that order, from the acquirers on."""
    found = list(topology.acquirers(buffer))
    for node in found:
        for key, known in topology.edges.items():
            if (
                key.producer == node
                and key.back == 0
                and buffer in known.carries
                and key.consumer not in found
            ):
                found.append(key.consumer)
    return found


def handed_on(topology: Topology, buffer: str, owner: str, target: str) -> Iterator[Change]:
    """Ownership from `owner` to `target`: along the step's shortest way, or by an edge of its own."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(topology.nodes)
    graph.add_edges_from((key.producer, key.consumer) for key in topology.edges if key.back == 0)
    if owner != target and nx.has_path(graph, owner, target):
        way = nx.shortest_path(graph, owner, target)
        change = NOTHING
        for producer, consumer in pairwise(way):
            step = edge(topology, EdgeKey(producer, 0, consumer), carries=[buffer])
            change = change + step if step else change
        if change.edits:
            steps = [str(edit.path[1]) for edit in change.edits]
            yield Change(change.edits, f"let {listed(steps)} carry `{buffer}`", 6 + 2 * len(steps))
    elif owner != target and (made := edge(topology, EdgeKey(owner, 0, target), carries=[buffer])):
        yield made
