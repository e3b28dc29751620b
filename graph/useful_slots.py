"""The fewest slots with which a topology reaches a period, for all its buffers at once.

A cycle of arcs asks for so many tokens: its durations over the period, rounded up, and at least one. Each
slot of a buffer whose wait is on the cycle gives one. Buffers may share a cycle, so their counts are searched
together: best first over the counts (A*), with the cycles found so far as constraints, until the marked graph
has no cycle that lacks a token. The least total is an integer program, hard in the worst case; the search is
bounded.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

import networkx as nx

from graph.critical import Cycle, cycle_ratio, longer_cycle
from graph.order import Arc, MarkedGraph
from graph.topology import Topology

MOST_COUNTS = 20_000
"""Vectors of counts looked at before the search settles for counts that are enough."""
MOST_CYCLES = 200
"""The same for walks over the marked graph, each of which finds a cycle."""


class UsefulSlots(NamedTuple):
    """Slots for each buffer that is acquired and released; used together they reach the period."""

    counts: Mapping[str, int]
    fewest: bool
    """Whether no counts with a smaller total would do; False where the search was cut short."""


class _Need(NamedTuple):
    """A cycle as a constraint: the counts, times how often each buffer is on the cycle, reach `tokens`."""

    times: Mapping[str, int]
    tokens: int

    def lack(self, counts: Mapping[str, int]) -> int:
        return self.tokens - sum(counts[name] * times for name, times in self.times.items())


def without_slots(graph: MarkedGraph) -> MarkedGraph:
    """The graph of a topology with no end of slots."""
    return MarkedGraph(tuple(arc for arc in graph.arcs if arc.reason != "slot"), graph.lag, graph.lane)


def best_period(graph: MarkedGraph, durations: Mapping[str, Fraction]) -> Fraction:
    """The period that no number of slots improves: that of lanes, edges and `in_flight` alone."""
    return cycle_ratio(without_slots(graph), durations)


def useful_slots(
    topology: Topology,
    graph: MarkedGraph,
    durations: Mapping[str, Fraction],
    period: Fraction,
    floor: Mapping[str, int] | None = None,
) -> UsefulSlots:
    """The fewest slots in all at which no cycle takes longer than `period` a step and nothing deadlocks.

    No buffer gets fewer than in `floor`. `graph` is the topology's, sound, and `period` at least its
    `best_period`. Where several counts have the least total, the same ones are found each time.
    """
    return _Search(topology, graph, durations, period).run(floor or {})


def with_slots(topology: Topology, counts: Mapping[str, int]) -> Topology:
    """The topology with other slot counts."""
    buffers = {
        name: buffer.model_copy(update={"slots": counts.get(name, buffer.slots)})
        for name, buffer in topology.buffers.items()
    }
    return topology.model_copy(update={"buffers": buffers})


class _Search:
    def __init__(
        self, topology: Topology, graph: MarkedGraph, durations: Mapping[str, Fraction], period: Fraction
    ) -> None:
        self.graph, self.period = graph, period
        self.times = {node: Fraction(durations.get(node, 0)) for node in graph.lag}
        self.now = {arc.buffer: topology.buffers[arc.buffer].slots for arc in graph.arcs if arc.buffer}
        self.needs: list[_Need] = []

    def run(self, floor: Mapping[str, int]) -> UsefulSlots:
        counts = self._least(floor)
        heap = [self._ranked(counts)]
        seen = {heap[0][-1]}
        for _ in range(MOST_COUNTS):
            rank, _, vector = heapq.heappop(heap)
            counts = dict(zip(self.now, vector, strict=True))
            need = self._unmet(counts)
            if need is None:
                return UsefulSlots(counts, fewest=True)
            if len(self.needs) > MOST_CYCLES:
                break
            if (again := self._ranked(counts))[0] > rank:
                heapq.heappush(heap, again)  # a cycle found since asks for more: others may now be better
                continue
            for child in map(self._ranked, _raised(counts, need)):
                if child[-1] not in seen:
                    seen.add(child[-1])
                    heapq.heappush(heap, child)
        return UsefulSlots(self._enough(counts), fewest=False)

    def _ranked(self, counts: Mapping[str, int]) -> tuple[int, int, tuple[int, ...]]:
        """The counts behind the least total that any from here on can have; of equals, the fullest first."""
        total = sum(counts.values())
        lacks = (math.ceil(need.lack(counts) / max(need.times.values())) for need in self.needs)
        return total + max(0, max(lacks, default=0)), -total, tuple(counts.values())

    def _least(self, floor: Mapping[str, int]) -> dict[str, int]:
        """What each buffer needs at least: no wait for a later turn, and enough with no end of the others."""
        counts = {name: floor.get(name, 1) for name in self.now}
        for arc in self.graph.arcs:
            if arc.buffer:
                counts[arc.buffer] = max(counts[arc.buffer], self.now[arc.buffer] - arc.tokens)
        for name in counts:
            alone = [arc for arc in self.graph.arcs if arc.buffer in (None, name)]
            while need := self._need(alone, counts):
                counts[name] += math.ceil(need.lack(counts) / need.times[name])
        return counts

    def _unmet(self, counts: Mapping[str, int]) -> _Need | None:
        """A need that the counts do not meet: one already known, else one found in the graph."""
        for need in self.needs:
            if need.lack(counts) > 0:
                return need
        found = self._need(self.graph.arcs, counts)
        if found is not None:
            self.needs.append(found)
        return found

    def _need(self, arcs: Iterable[Arc], counts: Mapping[str, int]) -> _Need | None:
        """The need of a cycle of these arcs that lacks tokens with these counts."""
        graph = MarkedGraph(tuple(self._given(arcs, counts)), self.graph.lag, self.graph.lane)
        cycle = _ring_without_tokens(graph, self.times) or longer_cycle(graph, self.times, self.period)
        if cycle is None:
            return None
        times = Counter(arc.buffer for arc in cycle.arcs if arc.buffer is not None)
        fixed = cycle.tokens - sum(counts[name] * often for name, often in times.items())
        wanted = math.ceil(cycle.duration / self.period) if self.period else 0
        return _Need(times, max(1, wanted) - fixed)

    def _given(self, arcs: Iterable[Arc], counts: Mapping[str, int]) -> Iterator[Arc]:
        for arc in arcs:
            if arc.buffer:
                yield arc._replace(tokens=arc.tokens + counts[arc.buffer] - self.now[arc.buffer])
            else:
                yield arc

    def _enough(self, counts: dict[str, int]) -> dict[str, int]:
        """Counts from here on that meet every need, each time at the buffer with the fewest slots."""
        while need := self._unmet(counts):
            name = min(need.times, key=counts.__getitem__)
            counts = {**counts, name: counts[name] + math.ceil(need.lack(counts) / need.times[name])}
        return counts


def _raised(counts: Mapping[str, int], need: _Need) -> Iterator[dict[str, int]]:
    """The next larger counts, one of which lies on the way to any that meet the need."""
    for name in need.times:
        more = math.ceil(need.lack(counts) / need.times[name]) if len(need.times) == 1 else 1
        yield {**counts, name: counts[name] + more}


def _ring_without_tokens(graph: MarkedGraph, times: Mapping[str, Fraction]) -> Cycle | None:
    """A deadlock: a cycle of arcs with no token."""
    still: nx.DiGraph[str] = nx.DiGraph()
    still.add_edges_from((arc.source, arc.target, {"arc": arc}) for arc in graph.arcs if arc.tokens == 0)
    try:
        arcs = tuple(still.edges[pair]["arc"] for pair in nx.find_cycle(still))
    except nx.NetworkXNoCycle:
        return None
    return Cycle(arcs, sum((times[arc.source] for arc in arcs), Fraction(0)), 0)
