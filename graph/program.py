"""From a proof to a program: per lane, in order, the waits, the call and the signals of each node.

Waits between nodes of one lane are its program order and cost nothing. Of the waits that cross lanes, those
that other waits already imply are left out, so a turn does the fewest synchronisations that keep every proved
order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from graph.order import Arc, MarkedGraph, entry_nodes, marked_graph
from graph.topology import Topology, Worker
from graph.validate import Validated, validate

DEFAULT_IN_FLIGHT = 64
"""The limit put on a topology in which nothing bounds how many steps are in flight."""


@dataclass(frozen=True)
class Channel:
    """A wait that crosses lanes: `consumer` in turn i waits until `producer` is through in turn i - tokens.

    At most `capacity` tokens are ever on it, so a ring of that many binary semaphores holds them.
    """

    producer: str
    consumer: str
    tokens: int
    capacity: int
    arc: Arc


@dataclass(frozen=True)
class Op:
    """One entry of a lane's program. `waits` and `signals` index the program's channels."""

    node: str
    lag: int
    waits: tuple[int, ...]
    signals: tuple[int, ...]
    entry: bool
    """Whether the node also waits for its step to be submitted."""


@dataclass(frozen=True)
class LaneProgram:
    name: str
    worker: Worker
    ops: tuple[Op, ...]


@dataclass(frozen=True)
class Program:
    """What a run executes. Made by `compile` alone, so its topology is proved sound."""

    topology: Topology
    graph: MarkedGraph
    lanes: tuple[LaneProgram, ...]
    channels: tuple[Channel, ...]
    depth: int
    """Most steps that can be in flight at once."""
    max_lag: int
    max_back: int
    """The largest `@n` of any use or edge."""


def compile(topology: Topology | Validated) -> Program:
    """The program of a topology; raises `TopologyError` where the topology is not sound."""
    proof = topology if isinstance(topology, Validated) else validate(topology)
    bounded, depth = _bounded(proof)
    arcs = _needed(bounded)
    channels = tuple(_channel(arc, bounded) for arc in arcs)
    source = proof.topology
    entries = set(entry_nodes(source))
    lanes = tuple(
        LaneProgram(
            name, lane.worker, tuple(_op(entry.node, entry.lag, channels, entries) for entry in lane.nodes)
        )
        for name, lane in source.lanes.items()
    )
    backs = [use.back for node in source.nodes.values() for use in (*node.reads, *node.writes)]
    return Program(
        topology=source,
        graph=bounded,
        lanes=lanes,
        channels=channels,
        depth=int(depth),
        max_lag=max(bounded.lag.values(), default=0),
        max_back=max([*backs, *(key.back for key in source.edges)], default=0),
    )


def _op(node: str, lag: int, channels: Sequence[Channel], entries: set[str]) -> Op:
    waits = tuple(i for i, channel in enumerate(channels) if channel.consumer == node)
    signals = tuple(i for i, channel in enumerate(channels) if channel.producer == node)
    return Op(node, lag, waits, signals, node in entries)


def _depth(graph: MarkedGraph, topology: Topology) -> float:
    """Most steps between entry and exit: step k enters before step k - depth is through at the earliest."""
    backwards = graph.digraph().reverse(copy=False)  # one search for each entry, not one for each node
    found: list[float] = []
    for entry in entry_nodes(topology):
        tokens = nx.single_source_dijkstra_path_length(backwards, entry, weight="tokens")
        found.extend(
            tokens.get(node, math.inf) + graph.lag[node] - graph.lag[entry]
            for node in topology.nodes
            if node != entry
        )
    return max(found, default=1)


def _bounded(proof: Validated) -> tuple[MarkedGraph, float]:
    """The marked graph, with a limit on the steps in flight where the topology has none, and its depth."""
    depth = _depth(proof.graph, proof.topology)
    if math.isfinite(depth):
        return proof.graph, depth
    limit = max(DEFAULT_IN_FLIGHT, 2 * max(proof.graph.lag.values()) + 2)
    graph = marked_graph(proof.topology.model_copy(update={"in_flight": limit}))
    return graph, _depth(graph, proof.topology)


def _needed(graph: MarkedGraph) -> tuple[Arc, ...]:
    """The arcs between lanes that no path over other arcs implies: the transitive reduction."""
    network = graph.digraph().copy()
    crossing = [
        data["arc"]
        for source, target, data in network.edges(data=True)
        if graph.lane[source] != graph.lane[target]
    ]
    weakest_first = sorted(
        crossing, key=lambda arc: (-arc.tokens, arc.reason == "edge", arc.source, arc.target)
    )
    kept: list[Arc] = []
    for arc in weakest_first:
        network.remove_edge(arc.source, arc.target)
        reached = nx.single_source_dijkstra_path_length(
            network, arc.source, cutoff=arc.tokens, weight="tokens"
        )
        if arc.target not in reached:
            network.add_edge(arc.source, arc.target, tokens=arc.tokens, arc=arc)
            kept.append(arc)
    order = {name: position for position, name in enumerate(graph.lag)}
    return tuple(sorted(kept, key=lambda arc: (order[arc.target], order[arc.source])))


def _channel(arc: Arc, graph: MarkedGraph) -> Channel:
    around = graph.distance(arc.target, arc.source)
    return Channel(arc.source, arc.target, arc.tokens, int(arc.tokens + around), arc)
