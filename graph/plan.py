"""What a topology promises in steady state: its period, what sets it, the slots that are of use, the memory.

The period is the longer of two bounds: the maximum cycle ratio of the marked graph, and for each resource
that nodes share the sum of their durations. As-soon-as-possible execution settles to the first; no execution
gets below the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from graph.critical import cycle_ratio
from graph.diagnostics import Firing
from graph.limit import Limit, find_limit
from graph.memory import BufferMemory, memory
from graph.order import MarkedGraph, marked_graph
from graph.resources import Holders, Resource, holders, resources
from graph.schedule import schedule
from graph.topology import Topology
from graph.useful_slots import UsefulSlots, best_period, useful_slots, with_slots
from graph.validate import faults


@dataclass(frozen=True)
class Prediction:
    """The steady state of steps that all take one route; times in milliseconds."""

    topology: Topology
    graph: MarkedGraph
    route: str
    times: Mapping[str, Fraction]
    """Of every node; 0 where the route leaves it out: it then waits and does no work."""
    resources: tuple[Resource, ...]
    stated: Holders
    """Who holds a resource, where that was not left to the assumptions."""
    period: Fraction
    limit: Limit

    @property
    def lanes(self) -> dict[str, Fraction]:
        """How long each lane works in a step."""
        busy = dict.fromkeys(self.topology.lanes, Fraction(0))
        for node, lane in self.graph.lane.items():
            busy[lane] += self.times[node]
        return busy

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of the route."""
        return self.topology.steps_routes()[self.route]


@dataclass(frozen=True)
class Plan:
    """A prediction with what could be changed about it."""

    prediction: Prediction
    slots: UsefulSlots
    best: Fraction
    """The period with those slots: no number of slots makes it shorter."""
    slot_faults: tuple[str, ...]
    """Codes of what is wrong with the topology that has those slots; none where it is sound."""
    memory: tuple[BufferMemory, ...]


def predict(
    topology: Topology, times: Mapping[str, Fraction], route: str | None = None, stated: Holders | None = None
) -> Prediction:
    """The period of a sound topology on one route, by default the first.

    `times` has milliseconds for every node; `stated` says who holds a resource where the assumptions of
    `graph.resources` are wrong. Raises `KeyError` for a route that is not declared.
    """
    graph = marked_graph(topology)
    name = route if route is not None else next(iter(topology.steps_routes()))
    members = topology.steps_routes()[name]
    working = {node: times[node] if node in members else Fraction(0) for node in topology.nodes}
    shared = resources(holders(topology, stated or {}), members, working)
    period = max(cycle_ratio(graph, working), *(one.duration for one in shared), Fraction(0))
    limit = find_limit(topology, graph, working, shared, period)
    return Prediction(topology, graph, name, working, shared, stated or {}, period, limit)


def plan(prediction: Prediction) -> Plan:
    """The fewest slots that reach the best period there is, and the memory of those declared."""
    topology, graph, times = prediction.topology, prediction.graph, prediction.times
    best = max(best_period(graph, times), *(one.duration for one in prediction.resources), Fraction(0))
    slots = useful_slots(topology, graph, times, best)
    changed = faults(with_slots(topology, slots.counts))
    codes = sorted({fault.code for fault in changed if fault.severity == "error"})
    return Plan(prediction, slots, best, tuple(codes), memory(topology))


def first_steps(prediction: Prediction, steps: int) -> list[Firing]:
    """The first steps of the route, each node as soon as its waits allow, with all steps there at time 0."""
    times = {node: float(time) for node, time in prediction.times.items()}
    return schedule(prediction.topology, times, steps, [prediction.route])
