"""The schedule that shows a fault: every wait of the topology met, and the clash in plain sight.

Every firing starts as soon as its waits allow and takes one unit of time, except the one that nothing
orders: it lasts until the other has started. That this can always be done makes the verdicts complete.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import networkx as nx

from graph.diagnostics import Clash, Diagnostic, Firing
from graph.order import Arc, MarkedGraph, marked_graph
from graph.topology import Topology

MOST_WORK = 400_000
"""Arcs times turns that a schedule may cost; a fault that shows only behind more than that gets none."""
MOST_WORK_IN_ALL = 4_000_000
"""The same for all the faults of a topology: where there are thousands, the last get none."""
MOST_FIRINGS = 60
"""Beyond this a schedule keeps only the firings that the clash itself needs."""

_Firing = tuple[str, int]
"""A node and a turn."""


def schedule(topology: Topology, diagnostic: Diagnostic) -> tuple[Firing, ...]:
    """The first steps up to the fault, by start and lane; empty for a code that no schedule shows."""
    return schedules(topology, [diagnostic])[0]


def schedules(topology: Topology, found: Sequence[Diagnostic]) -> list[tuple[Firing, ...]]:
    """As `schedule`, for each of a topology's diagnostics."""
    if not any(one.clash or one.code == "LF301" for one in found):
        return [() for _ in found]
    waits = _Waits(topology, marked_graph(topology))
    made: list[tuple[Firing, ...]] = []
    for one in found:
        if waits.spent > MOST_WORK_IN_ALL:
            made.append(())
        elif one.code == "LF301":
            made.append(_stuck(waits, one))
        else:
            made.append(_Run(waits, one.clash, one.buffer).firings() if one.clash else ())
    return made


def unordered(topology: Topology, graph: MarkedGraph, clash: Clash) -> tuple[Firing, ...]:
    """The schedule of `graph` in which `clash.first` outlasts `clash.second`; nothing in it keeps the two apart.

    `graph` has the topology's nodes and may lack some of its waits, so that it is seen what those are for. Empty where
    the two come too late for a schedule that can be afforded.
    """
    return _Run(_Waits(topology, graph), clash, None).firings()


class _Waits:
    """What each node waits for; made once for all the schedules of a topology."""

    def __init__(self, topology: Topology, graph: MarkedGraph) -> None:
        self.topology = topology
        self.graph = graph
        self.incoming: dict[str, list[Arc]] = {node: [] for node in graph.lag}
        for arc in graph.arcs:
            self.incoming[arc.target].append(arc)
        self.spent = 0

    @cached_property
    def order(self) -> list[str]:
        """The nodes so that within one turn each comes behind what it waits for; there is no deadlock."""
        same_turn: nx.DiGraph[str] = nx.DiGraph()
        same_turn.add_nodes_from(self.graph.lag)
        same_turn.add_edges_from((arc.source, arc.target) for arc in self.graph.arcs if arc.tokens == 0)
        return list(nx.topological_sort(same_turn))

    def affords(self, turns: int) -> bool:
        """Whether that many turns may be walked through; they then count as spent."""
        work = turns * len(self.graph.arcs)
        self.spent += work if work <= MOST_WORK else 0
        return work <= MOST_WORK


class _Run:
    """As-soon-as-possible times of all nodes, turn by turn, with `late` never through."""

    def __init__(self, waits: _Waits, clash: Clash, buffer: str | None) -> None:
        self.waits, self.topology, self.graph = waits, waits.topology, waits.graph
        self.clash = clash
        self.late = (clash.first.node, self._turn(clash.first.node, clash.first.step))
        self.other = (clash.second.node, self._turn(clash.second.node, clash.second.step))
        self.routes = {clash.first.step: clash.first.route, clash.second.step: clash.second.route}
        self.next_tenant = self._next_tenant(buffer)
        if clash.tenure is not None and buffer is not None:
            self.routes.setdefault(clash.tenure, _route_with(self.topology, self.topology.acquirers(buffer)))
        self.starts: dict[_Firing, float] = {}
        self.ends: dict[_Firing, float] = {}

    def _turn(self, node: str, step: int) -> int:
        return step + self.graph.lag[node]

    def _next_tenant(self, buffer: str | None) -> _Firing | None:
        """Who takes the slot next where it goes back too soon (the second firing then is its release)."""
        tenure, second = self.clash.tenure, self.clash.second
        if tenure is None or buffer is None or second.node not in self.topology.releasers(buffer):
            return None
        step = tenure + self.topology.buffers[buffer].slots
        known = self.routes.get(step)
        takers = self.topology.acquirers(buffer)
        route = known or _route_with(self.topology, takers)
        taker = next((name for name in takers if name in self.topology.steps_routes()[route]), None)
        if taker is None or (self._turn(taker, step) + 1) * len(self.graph.arcs) > MOST_WORK:
            return None
        firing = (taker, self._turn(taker, step))
        if firing == self.late:  # it is its own next tenant
            return None
        self.routes[step] = route
        return firing

    def firings(self) -> tuple[Firing, ...]:
        turns = 1 + max(turn for _, turn in (self.late, self.other, self.next_tenant or self.other))
        if not self.waits.affords(turns):
            return ()
        self._simulate(turns)
        late, other = self.clash.first, self.clash.second
        if not self.graph.before(other.node, late.node, late.step - other.step):
            self._simulate(turns, not_before=self.starts[self.late])
        return self._drawn()

    def _simulate(self, turns: int, not_before: float = 0) -> None:
        """Times of `turns` turns; the firing that comes too soon does not start until `not_before`."""
        for turn in range(turns):
            for node in self.waits.order:
                ends = (
                    self.ends[arc.source, turn - arc.tokens]
                    for arc in self.waits.incoming[node]
                    if arc.tokens <= turn
                )
                start = max(ends, default=0)
                if (node, turn) == self.other:
                    start = max(start, not_before)
                self.starts[node, turn] = start
                self.ends[node, turn] = (
                    math.inf if (node, turn) == self.late else start + self._works(node, turn)
                )

    def _works(self, node: str, turn: int) -> int:
        """One unit of time, or none where the node is passed."""
        return int(_works_on(self.topology, self.routes, node, turn - self.graph.lag[node]))

    def _drawn(self) -> tuple[Firing, ...]:
        """All that starts before the clash is over; the late firing ends behind the rest."""
        shown = {self.other}
        if self.next_tenant is not None and self.starts[self.next_tenant] < math.inf:
            shown.add(self.next_tenant)
        until = max(self.starts[self.late], *(self.ends[firing] for firing in shown))
        self.ends[self.late] = until + 1
        shown.add(self.late)
        kept = shown.union(key for key, start in self.starts.items() if start < until)
        if len(kept) > MOST_FIRINGS:
            kept = _needed(self.waits.incoming, shown)
        return tuple(sorted(self._records(kept), key=_reading_order(self.topology)))

    def _records(self, kept: set[_Firing]) -> Iterator[Firing]:
        for node, turn in kept:
            if self._works(node, turn):
                start, end = int(self.starts[node, turn]), int(self.ends[node, turn])
                yield Firing(node, turn - self.graph.lag[node], self.graph.lane[node], start, end)


def _stuck(waits: _Waits, diagnostic: Diagnostic) -> tuple[Firing, ...]:
    """How far the steps get before a deadlock, where what is passed before step 0 holds nothing up.

    Lanes that the deadlock does not touch would go on; they are cut soon after the stuck nodes' turn.
    """
    topology, graph = waits.topology, waits.graph
    turns = 3 + max(graph.lag.values(), default=0)
    if not waits.affords(turns):
        return ()
    needs = _needs(topology, graph, turns)
    routes = dict.fromkeys(range(turns), _route_with(topology, diagnostic.nodes))
    starts: dict[_Firing, float] = {}
    ends: dict[_Firing, float] = {}
    waiting = list(needs)
    while True:
        left = [firing for firing in waiting if not needs[firing] <= ends.keys()]
        if len(left) == len(waiting):
            break
        for node, turn in waiting:
            if needs[node, turn] <= ends.keys():
                starts[node, turn] = max((ends[need] for need in needs[node, turn]), default=0)
                works = _works_on(topology, routes, node, turn - graph.lag[node])
                ends[node, turn] = starts[node, turn] + int(works)
        waiting = [firing for firing in waiting if firing not in ends]
    firings = (
        Firing(node, turn - graph.lag[node], graph.lane[node], start, ends[node, turn])
        for (node, turn), start in starts.items()
        if ends[node, turn] > start
    )
    return tuple(sorted(firings, key=_reading_order(topology))[:MOST_FIRINGS])


def _needs(topology: Topology, graph: MarkedGraph, turns: int) -> dict[_Firing, set[_Firing]]:
    """For each firing on a step that exists, those of such steps that it waits for."""
    found: dict[_Firing, set[_Firing]] = {}
    for lane in topology.lanes.values():
        last: set[_Firing] = set()
        for turn in range(turns):
            for entry in lane.nodes:
                if turn >= entry.lag:
                    found[entry.node, turn] = last
                    last = {(entry.node, turn)}
    for arc in graph.arcs:
        for turn in range(max(graph.lag[arc.target], arc.tokens + graph.lag[arc.source]), turns):
            if arc.reason != "lane":
                found[arc.target, turn] = found[arc.target, turn] | {(arc.source, turn - arc.tokens)}
    return found


def _needed(incoming: Mapping[str, list[Arc]], targets: set[_Firing]) -> set[_Firing]:
    """The firings that the targets wait for, directly or on, and the targets."""
    found = set(targets)
    open_ = list(targets)
    while open_:
        node, turn = open_.pop()
        for arc in incoming[node]:
            source = (arc.source, turn - arc.tokens)
            if source[1] >= 0 and source not in found:
                found.add(source)
                open_.append(source)
    return found


def _works_on(topology: Topology, routes: Mapping[int, str], node: str, step: int) -> bool:
    """Whether the node works on the step: it exists and takes a route with the node; by default the first."""
    known = topology.steps_routes()
    return step >= 0 and node in known[routes.get(step) or next(iter(known))]


def _route_with(topology: Topology, nodes: tuple[str, ...]) -> str:
    """The first route with most of the nodes."""
    routes = topology.steps_routes()
    return max(routes, key=lambda name: sum(node in routes[name] for node in nodes))


def _reading_order(topology: Topology) -> Callable[[Firing], tuple[float, int, float, int]]:
    lanes = {name: place for place, name in enumerate(topology.lanes)}
    return lambda firing: (firing.start, lanes[firing.lane], firing.end, firing.step)
