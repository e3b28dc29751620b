"""The faults that an exhaustive walk meets, read off its states: what runs while what, what is through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from graph.topology import Topology, Use
from tests.graph.exhaustive.reads import Reads
from tests.graph.exhaustive.walk import Firing, Run, State, entries, lags, waits

Fault = tuple[str, str | None, frozenset[str] | tuple[str, ...]]


class Walked(NamedTuple):
    faults: frozenset[Fault]
    """Code, buffer and nodes."""
    overwritten: frozenset[str]
    """Buffers of which two steps used one slot at the same time."""
    states: int


def walked(topology: Topology) -> Walked:
    """The faults that a bounded run shows; what cannot go on at all is not looked at further."""
    counted = frozenset(("LF201", buffer, ()) for buffer in _miscounted(topology))
    early = frozenset(_needed_too_early(topology))
    if early:
        return Walked(counted | early, frozenset(), 0)
    run = Run(topology, _turns(topology))
    watch = Watch(run)
    reads = Reads(run, watch.routes)
    furthest, count = tuple(0 for _ in run.last), 0
    for state, busy in run.states():
        count += 1
        furthest = max(furthest, state, key=sum)
        for firing in busy:
            watch.see(firing, busy, state)
            reads.see(firing, state)
    if furthest != run.last:
        return Walked(counted | {("LF301", None, nodes) for nodes in run.rings(furthest)}, frozenset(), count)
    left_out = {buffer for _, buffer, _ in counted}
    shown = {*watch.shown, *(("LF208", buffer, (node,)) for buffer, node in reads.unwritten())}
    shown = {fault for fault in shown if fault[1] not in left_out}
    return Walked(
        counted | shown | set(_never_reached(topology)), frozenset(watch.overwritten - left_out), count
    )


def _turns(topology: Topology) -> int:
    """Enough for every distance at which two uses, a use and its slot's two ends, or emissions can meet."""
    lag = max(lags(topology).values(), default=0)
    back = max((use.back for node in topology.nodes for use in _uses(topology, node)), default=0)
    return max(2 * lag + 3, back + lag + 2)


def _routes(topology: Topology) -> list[frozenset[str]]:
    return [frozenset(nodes) for nodes in topology.routes.values()] or [frozenset(topology.nodes)]


def _uses(topology: Topology, node: str) -> list[Use]:
    return [*topology.nodes[node].reads, *topology.nodes[node].writes]


def _miscounted(topology: Topology) -> Iterator[str]:
    """Buffers of which a step can leave a slot behind, take two, or use one that no step took."""
    routes = _routes(topology)
    working = frozenset().union(*routes)
    for buffer, declared in topology.buffers.items():
        if declared.persistent:
            continue
        counts = set()
        for route in routes:
            taken = sum(topology.nodes[node].acquires.count(buffer) for node in route)
            given = sum(topology.nodes[node].releases.count(buffer) for node in route)
            used = any(
                use.buffer == buffer and not use.back for node in route for use in _uses(topology, node)
            )
            counts.add((taken, given, used))
        borrowed = any(use.buffer == buffer and use.back for node in working for use in _uses(topology, node))
        if counts - {(1, 1, True), (1, 1, False), (0, 0, False)} or (borrowed and counts == {(0, 0, False)}):
            yield buffer


def _needed_too_early(topology: Topology) -> Iterator[Fault]:
    """Waits for a firing that its lane's program has in a later turn than the waiting one."""
    lag = lags(topology)
    for wait in waits(topology):
        if lag[wait.other] - wait.back > lag[wait.node]:
            yield "LF302", wait.buffer, (wait.node, wait.other)


def _never_reached(topology: Topology) -> Iterator[Fault]:
    """LF303: without the limit, the last of `in_flight` steps never enters before the first has ended."""
    limit = topology.in_flight
    if limit is None:
        return
    run = Run(topology.model_copy(update={"in_flight": None}), limit + max(lags(topology).values()) + 1)
    doors = {run.on(entry, limit - 1) for entry in entries(topology)}
    ends = [run.end(run.on(node, 0)) for node in topology.nodes]
    for state, busy in run.states():
        if doors & set(busy) and any(state[lane] < end for lane, end in ends):
            return
    yield "LF303", None, ()


class Check(NamedTuple):
    """While the watched firing runs, it is a fault that `lane` has come to `end`, or that it has not."""

    lane: int
    end: int
    through: bool
    fault: Fault


class Watch:
    """What to look for while a firing runs, worked out when it is first seen."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.routes = _routes(run.topology)
        self.shown: set[Fault] = set()
        self.overwritten: set[str] = set()
        self.checks: dict[Firing, list[Check]] = {}
        self.pairs: set[tuple[Firing, Firing]] = set()

    def see(self, firing: Firing, busy: list[Firing], state: State) -> None:
        if firing not in self.checks:
            self.checks[firing] = [*self._checks_of_slots(firing), *self._checks_of_emission(firing)]
        for lane, end, through, fault in self.checks[firing]:
            if (state[lane] >= end) is through:
                self.shown.add(fault)
        for other in busy:
            if firing < other and (firing, other) not in self.pairs:
                self.pairs.add((firing, other))
                self._clash(firing, other)

    def can(self, *working: tuple[int, str]) -> bool:
        """Whether the steps can take routes in which each of the nodes works on its step."""
        steps = sorted({step for step, _ in working})
        return steps[0] >= 0 and any(
            all(node in routes[steps.index(step)] for step, node in working)
            for routes in product(self.routes, repeat=len(steps))
        )

    def _checks_of_slots(self, firing: Firing) -> Iterator[Check]:
        step = self.run.step(firing)
        for buffer, tenure in self._touched(firing):
            for name, node in self.run.topology.nodes.items():
                other = self.run.on(name, tenure)
                if other != firing and self.can((step, firing.node), (tenure, name)):
                    if buffer in node.acquires:
                        yield Check(*self.run.end(other), False, ("LF204", buffer, (firing.node,)))
                    if buffer in node.releases:
                        yield Check(*self.run.end(other), True, ("LF205", buffer, (firing.node,)))

    def _checks_of_emission(self, firing: Firing) -> Iterator[Check]:
        nodes, step = self.run.topology.nodes, self.run.step(firing)
        stream = nodes[firing.node].emits
        for name, node in nodes.items():
            if (
                stream is not None
                and node.emits == stream
                and self.can((step, firing.node), (step - 1, name))
            ):
                fault = ("LF401", None, frozenset((firing.node, name)))
                yield Check(*self.run.end(self.run.on(name, step - 1)), False, fault)

    def _clash(self, one: Firing, two: Firing) -> None:
        """What two firings that run at the same time do to each other."""
        works = (self.run.step(one), one.node), (self.run.step(two), two.node)
        if not self.can(*works):
            return
        pair = frozenset((one.node, two.node))
        for (buffer, tenure), mine in self._touched(one).items():
            for (other, later), theirs in self._touched(two).items():
                slots = self.run.topology.buffers[buffer].slots
                if (
                    other != buffer
                    or tenure % slots != later % slots
                    or not self._exist(works, buffer, tenure, later)
                ):
                    continue
                if tenure != later:
                    self.overwritten.add(buffer)
                elif any(mine[name] or theirs[name] for name in mine.keys() & theirs.keys()):
                    code = "LF207" if self.run.topology.buffers[buffer].persistent else "LF206"
                    self.shown.add((code, buffer, pair))

    def _exist(self, works: tuple[tuple[int, str], ...], buffer: str, *tenures: int) -> bool:
        """Whether the steps can take routes in which the slots of `tenures` were acquired at all."""
        topology = self.run.topology
        if topology.buffers[buffer].persistent:
            return True
        takers = [name for name, node in topology.nodes.items() if buffer in node.acquires]
        return any(
            self.can(*works, *zip(tenures, chosen, strict=True))
            for chosen in product(takers, repeat=len(tenures))
        )

    def _touched(self, firing: Firing) -> dict[tuple[str, int], dict[str, bool]]:
        """By buffer and acquiring step, 0 if persistent: the fields touched, and whether they are written."""
        topology, step = self.run.topology, self.run.step(firing)
        found: dict[tuple[str, int], dict[str, bool]] = defaultdict(dict)
        node = topology.nodes[firing.node]
        for writes, uses in ((False, node.reads), (True, node.writes)):
            for use in uses:
                tenure = 0 if topology.buffers[use.buffer].persistent else step - use.back
                for name in [use.field] if use.field else topology.fields(use.buffer) or ["all of it"]:
                    found[use.buffer, tenure][name] = writes
        return found
