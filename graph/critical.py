"""The cycle of a marked graph that sets its steady period.

The period of a timed marked graph is its maximum cycle ratio: over all cycles of arcs, the largest sum of
durations over sum of tokens (Ramamoorthy and Ho, 1980). It is exact, on the durations as rational numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from graph.order import Arc, MarkedGraph


class Cycle(NamedTuple):
    """A cycle of arcs, each starting where the one before it ends."""

    arcs: tuple[Arc, ...]
    duration: Fraction
    """The durations of its nodes, added up; in the unit of the durations."""
    tokens: int

    @property
    def period(self) -> Fraction:
        """The least time from step to step that this cycle allows, in the unit of the durations."""
        return self.duration / self.tokens

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in the order of the cycle."""
        return tuple(arc.source for arc in self.arcs)


def critical_cycle(graph: MarkedGraph, durations: Mapping[str, float | Fraction]) -> Cycle:
    """The cycle that sets the period; a node without a duration takes no time.

    Every cycle of `graph` must have a token (LF301), and the graph at least one node.
    """
    times = {node: Fraction(durations.get(node, 0)) for node in graph.lag}
    best = _cycle(_any_cycle(graph), times)
    while (better := longer_cycle(graph, times, best.period)) is not None:
        best = better
    return best


def cycle_ratio(graph: MarkedGraph, durations: Mapping[str, float | Fraction]) -> Fraction:
    """The period that the waits alone allow, in the unit of the durations; 0 where there is no node."""
    return critical_cycle(graph, durations).period if graph.lag else Fraction(0)


def longer_cycle(graph: MarkedGraph, times: Mapping[str, Fraction], period: Fraction) -> Cycle | None:
    """A cycle that takes more than `period` a token, if there is one; one without tokens if it takes time.

    Bellman-Ford from everywhere at once, on integers: it is a cycle of positive weight, where an arc weighs
    its source's time less `period` for each token. `times` has every node.
    """
    scale = math.lcm(period.denominator, *(time.denominator for time in times.values()))
    step = int(period * scale)
    arcs = [data["arc"] for _, _, data in graph.digraph().edges(data=True)]
    weights = {node: int(times[node] * scale) for node in graph.lag}
    weighed = [(arc, arc.source, arc.target, weights[arc.source] - step * arc.tokens) for arc in arcs]
    far = dict.fromkeys(weights, 0)
    came: dict[str, Arc] = {}
    for _ in range(len(weights)):
        moved = False
        for arc, source, target, weight in weighed:
            if far[source] + weight > far[target]:
                far[target] = far[source] + weight
                came[target] = arc
                moved = True
        if not moved:
            return None
        found = _ring(came)
        if found:
            return _cycle(found, times)
    return None


def _cycle(arcs: Sequence[Arc], times: Mapping[str, Fraction]) -> Cycle:
    duration = sum((times[arc.source] for arc in arcs), Fraction(0))
    return Cycle(tuple(arcs), duration, sum(arc.tokens for arc in arcs))


def _any_cycle(graph: MarkedGraph) -> list[Arc]:
    """A lane's program is a cycle with one token."""
    first = next(iter(graph.lane.values()))
    return [arc for arc in graph.arcs if arc.reason == "lane" and graph.lane[arc.source] == first]


def _ring(came: Mapping[str, Arc]) -> list[Arc]:
    """A cycle among the arcs by which nodes were reached last; empty where there is none."""
    done: set[str] = set()
    for start in came:
        way: dict[str, Arc] = {}
        node = start
        while node in came and node not in done and node not in way:
            way[node] = came[node]
            node = came[node].source
        if node in way:
            ring = [way[node]]
            while ring[-1].source != node:
                ring.append(way[ring[-1].source])
            return ring[::-1]
        done.update(way)
    return []
