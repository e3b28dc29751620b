"""Section "what it means" of the language, written out a second time, to check recorded firings against."""

from __future__ import annotations

import math
from itertools import product

from graph import Topology
from tests.fakes import Event

Distances = dict[tuple[str, str], float]


def waits(topology: Topology) -> dict[tuple[str, str], int]:
    """For (u, v), the fewest tokens w of any wait "v in turn i waits for u in turn i - w"."""
    found: dict[tuple[str, str], int] = {}

    def wait(producer: str, consumer: str, tokens: int) -> None:
        found[producer, consumer] = min(tokens, found.get((producer, consumer), tokens))

    lag = {entry.node: entry.lag for lane in topology.lanes.values() for entry in lane.nodes}
    for lane in topology.lanes.values():
        for i, later in enumerate(lane.nodes):
            for j, other in enumerate(lane.nodes):
                wait(other.node, later.node, 0 if j < i else 1)
    for key in topology.edges:
        wait(key.producer, key.consumer, key.back + lag[key.consumer] - lag[key.producer])
    for name, buffer in topology.buffers.items():
        takers = [node for node, declared in topology.nodes.items() if name in declared.acquires]
        givers = [node for node, declared in topology.nodes.items() if name in declared.releases]
        for taker, giver in product(takers, givers):
            wait(giver, taker, buffer.slots + lag[taker] - lag[giver])
    if topology.in_flight is not None:
        fed = {key.consumer for key in topology.edges if key.back == 0}
        for entry, node in product((n for n in topology.nodes if n not in fed), topology.nodes):
            wait(node, entry, topology.in_flight + lag[entry] - lag[node])
    for node in topology.nodes:
        found.pop((node, node), None)
    return found


def distances(nodes: list[str], arcs: dict[tuple[str, str], int]) -> Distances:
    """Least tokens over all paths (Floyd and Warshall)."""
    found: Distances = {(a, b): 0 if a == b else arcs.get((a, b), math.inf) for a in nodes for b in nodes}
    for middle, a, b in product(nodes, nodes, nodes):
        found[a, b] = min(found[a, b], found[a, middle] + found[middle, b])
    return found


def violations(topology: Topology, log: list[Event]) -> list[str]:
    """Every pair of recorded calls that overlap or come the wrong way round, though a wait keeps them apart."""
    lag = {entry.node: entry.lag for lane in topology.lanes.values() for entry in lane.nodes}
    between = distances(list(topology.nodes), waits(topology))
    starts = {(event.node, event.turn): at for at, event in enumerate(log) if event.what == "start"}
    ends = {(event.node, event.turn): at for at, event in enumerate(log) if event.what == "end"}
    found = []
    for (first, second), tokens in between.items():
        if first == second or tokens == math.inf:
            continue
        ahead = int(tokens) - lag[second] + lag[first]  # first of step k before second of step k + ahead
        for (node, step), start in starts.items():
            if node == second and ends.get((first, step - ahead), -1) > start:
                found.append(f"{first} of {step - ahead} is not through when {second} of {step} starts")
    return found
