"""What a topology's waits allow: the steady period, and the cycle that sets it.

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


def critical_cycle(graph: MarkedGraph, durations: Mapping[str, float]) -> Cycle:
    """The cycle that sets the period; a node without a duration takes no time.

    Every cycle of `graph` must have a token (LF301), and the graph at least one node.
    """
    times = {node: Fraction(durations.get(node, 0)) for node in graph.lag}
    arcs = [data["arc"] for _, _, data in graph.digraph().edges(data=True)]
    best = _cycle(_any_cycle(graph), times)
    while (better := _above(best.period, arcs, times)) is not None:
        best = better
    return best


def _cycle(arcs: Sequence[Arc], times: Mapping[str, Fraction]) -> Cycle:
    duration = sum((times[arc.source] for arc in arcs), Fraction(0))
    return Cycle(tuple(arcs), duration, sum(arc.tokens for arc in arcs))


def _any_cycle(graph: MarkedGraph) -> list[Arc]:
    """A lane's program is a cycle with one token."""
    first = next(iter(graph.lane.values()))
    return [arc for arc in graph.arcs if arc.reason == "lane" and graph.lane[arc.source] == first]


def _above(period: Fraction, arcs: Sequence[Arc], times: Mapping[str, Fraction]) -> Cycle | None:
    """A cycle of a longer period, if there is one; Bellman-Ford from everywhere at once, on integers.

    It is a cycle of positive weight, where an arc weighs its source's time less `period` for each token.
    """
    scale = math.lcm(period.denominator, *(time.denominator for time in times.values()))
    weight = {arc: int((times[arc.source] - period * arc.tokens) * scale) for arc in arcs}
    far = dict.fromkeys(times, 0)
    came: dict[str, Arc] = {}
    for _ in range(len(times)):
        moved = False
        for arc in arcs:
            if far[arc.source] + weight[arc] > far[arc.target]:
                far[arc.target] = far[arc.source] + weight[arc]
                came[arc.target] = arc
                moved = True
        if not moved:
            return None
        found = _ring(came)
        if found:
            return _cycle(found, times)
    return None


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
