"""A run with lanes in processes gives what a run of threads gives, in the same order, failures included."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import chain, combinations
from typing import Any

import pytest

from graph import StepError, Topology, load
from graph.files import shipped
from graph.order import marked_graph
from tests.fakes import HANG_S
from tests.graph.firing_order import violations
from tests.graph.lanes.acting import Failing, Failure, fail
from tests.graph.lanes.driving import children, events, running
from tests.graph.random_topologies import sound

pytestmark = pytest.mark.usefixtures("nothing_left")

TOPOLOGIES = {name: load(name) for name in shipped() if name != "decode"}


def lane_sets(topology: Topology) -> list[tuple[str, ...]]:
    names = [*topology.lanes]
    return list(chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1)))


ALL = [(name, lanes) for name, source in TOPOLOGIES.items() for lanes in lane_sets(source)]
SOME = [("pingpong", ("host",)), ("pingpong", ("host", "device", "output")), ("overlap", ("host",))]


def drive(
    topology: Topology, lanes: Iterable[str], routes: list[str], data: Failing, sporadic: bool = False
) -> None:
    """Run these steps; whatever is not made to fail must come out right, and everything in its order."""
    resolved: list[int] = []
    source = random.Random(len(routes))
    with running(topology, lanes, fail, data, checked=True) as run:
        tickets = []
        for index, route in enumerate(routes):
            ticket = run.submit(index, route=route)
            ticket.add_done_callback(lambda _, index=index: resolved.append(index))
            tickets.append(ticket)
            if sporadic and source.random() < 0.3:
                ticket.exception(timeout=HANG_S)
        found = [ticket.exception(timeout=HANG_S) or ticket.result() for ticket in tickets]
        assert run.held_slots() == []
    assert resolved == list(range(len(routes)))
    for index, (route, outcome) in enumerate(zip(routes, found, strict=True)):
        check(topology, index, route, outcome, data)
    assert violations(topology, events(run.spans())) == []
    called = [(span.node, span.step) for span in run.spans()]
    needed, allowed = expected_calls(topology, routes, data)
    assert len(called) == len(set(called))
    assert needed <= set(called) <= allowed
    assert run.quarantined == []
    assert children() == []


def check(topology: Topology, index: int, route: str, outcome: Any, data: Failing) -> None:
    if index in data.places:
        assert isinstance(outcome, StepError)
        assert (outcome.node, outcome.step) == (data.places[index], index)
        assert isinstance(outcome.cause, Failure)
        assert outcome.__cause__ is outcome.cause
    else:
        emits = any(topology.nodes[node].emits for node in topology.steps_routes()[route])
        assert outcome == (index if emits else None)


def expected_calls(
    topology: Topology, routes: list[str], data: Failing
) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """What has to be called, and what may be: nodes that are not ordered with the one that fails may be either."""
    order = marked_graph(topology)
    needed, allowed = set(), set()
    for index, route in enumerate(routes):
        failing = data.places.get(index)
        for node in topology.steps_routes()[route]:
            goes_on = failing in (None, node) or topology.nodes[node].kind == "release"
            if goes_on or order.before(node, failing, 0):
                needed.add((node, index))
            if goes_on or not order.before(failing, node, 0):
                allowed.add((node, index))
    return needed, allowed


def drawn_routes(topology: Topology, steps: int) -> list[str]:
    source = random.Random(steps)
    return [source.choice([*topology.steps_routes()]) for _ in range(steps)]


def every_place(topology: Topology) -> tuple[list[str], dict[int, str]]:
    """Steps in which each node of each route fails once, others in between."""
    routes: list[str] = []
    places: dict[int, str] = {}
    for route, nodes in topology.steps_routes().items():
        for node in nodes:
            places[len(routes)] = node
            routes += [route, *topology.steps_routes()]
    return routes, places


@pytest.mark.parametrize(("name", "lanes"), SOME)
def test_results_and_failures_of_every_node_are_those_of_threads(name: str, lanes: tuple[str, ...]) -> None:
    topology = TOPOLOGIES[name]
    routes, places = every_place(topology)
    drive(topology, lanes, routes + drawn_routes(topology, 60), Failing(places, delays=0.2))


@pytest.mark.slow
@pytest.mark.parametrize("sporadic", [False, True], ids=["saturated", "sporadic"])
@pytest.mark.parametrize(("name", "lanes"), ALL)
def test_every_choice_of_lanes(name: str, lanes: tuple[str, ...], sporadic: bool) -> None:
    topology = TOPOLOGIES[name]
    routes, places = every_place(topology)
    drive(topology, lanes, routes + drawn_routes(topology, 200), Failing(places, delays=0.2), sporadic)


@pytest.mark.slow
@pytest.mark.parametrize("sporadic", [False, True], ids=["saturated", "sporadic"])
def test_random_topologies_with_random_lanes_in_processes(sporadic: bool) -> None:
    seed = 300
    print("seed", seed)
    source = random.Random(seed)
    for topology in sound(seed, 40):
        lanes = [lane for lane in topology.lanes if source.random() < 0.6] or [*topology.lanes][:1]
        with running(topology, lanes, fail, Failing(delays=0.3), checked=True) as run:
            tickets = [
                run.submit(index, route=route) for index, route in enumerate(drawn_routes(topology, 25))
            ]
            for ticket in tickets:
                ticket.result(timeout=HANG_S)
                if sporadic:
                    run.submit("one more").result(timeout=HANG_S)
        assert violations(topology, events(run.spans())) == []
