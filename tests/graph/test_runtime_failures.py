"""A failed step: its error takes its place, whatever it had acquired is given back, and the run goes on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from graph import StepError, load
from graph.files import shipped
from tests.fakes import HANG_S, Probed, nothing, probed, topology
from tests.graph.firing_order import violations
from tests.graph.random_topologies import sound

pytestmark = pytest.mark.usefixtures("nothing_left")

TOPOLOGIES = {name: load(name) for name in shipped() if name != "decode"}
PLACES = [
    (name, route, node)
    for name, source in TOPOLOGIES.items()
    for route, nodes in source.steps_routes().items()
    for node in nodes
]
STEPS = 5


class Failure(Exception):
    pass


def failing(
    places: Mapping[int, str], raised: Callable[[str], BaseException] = Failure
) -> Callable[..., None]:
    def behave(node: str, step: Any, slots: Any) -> None:
        del slots
        if places.get(step.index) == node:
            raise raised(node)

    return behave


def outcomes(probes: Probed, routes: list[str | None]) -> list[Any]:
    """Each step's result or error, in the order in which tickets resolved."""
    resolved: list[int] = []
    with probes.run(checked=True, switch_interval_ms=None) as run:
        tickets = [run.submit(index, route=route) for index, route in enumerate(routes)]
        for index, ticket in enumerate(tickets):
            ticket.add_done_callback(lambda _, index=index: resolved.append(index))
        found = [ticket.exception(timeout=HANG_S) or ticket.result() for ticket in tickets]
        assert run.held_slots() == []
    assert run.held_slots() == []
    assert run.quarantined == []
    return found


def check(probes: Probed, routes: list[str | None], places: Mapping[int, str]) -> None:
    found = outcomes(probes, routes)
    for index, outcome in enumerate(found):
        if index in places:
            assert isinstance(outcome, StepError)
            assert (outcome.node, outcome.step) == (places[index], index)
            assert isinstance(outcome.cause, Failure)
            assert outcome.__cause__ is outcome.cause
        else:
            assert not isinstance(outcome, Exception)
    assert violations(probes.program.topology, probes.log) == []


@pytest.mark.parametrize(("name", "route", "node"), PLACES)
@pytest.mark.parametrize("at", [0, STEPS - 1], ids=["first", "last"])
def test_error_takes_its_steps_place(name: str, route: str, node: str, at: int) -> None:
    check(probed(TOPOLOGIES[name], failing({at: node})), [route] * STEPS, {at: node})


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_adjacent_steps_of_all_routes_fail_at_random_places(name: str) -> None:
    source = random.Random(7)
    routes = TOPOLOGIES[name].steps_routes()
    for _ in range(8):
        taken = [source.choice(list(routes)) for _ in range(12)]
        places = {index: source.choice(routes[taken[index]]) for index in range(12) if source.random() < 0.6}
        check(probed(TOPOLOGIES[name], failing(places)), list(taken), places)


@pytest.mark.usefixtures("hectic")
def test_steps_of_random_topologies_fail_at_random_places() -> None:
    seed = 31
    print("seed", seed)
    source = random.Random(seed)
    for drawn in sound(seed, 30):
        routes = drawn.steps_routes()
        taken = [source.choice(list(routes)) for _ in range(10)]
        places = {
            index: source.choice(routes[route])
            for index, route in enumerate(taken)
            if routes[route] and source.random() < 0.5
        }
        check(probed(drawn, failing(places)), list(taken), places)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_whatever_a_node_raises_becomes_its_steps_error(raised: type[BaseException]) -> None:
    found = outcomes(probed("pingpong", failing({1: "dispatch"}, lambda _: raised())), [None] * 3)
    assert isinstance(found[1], StepError)
    assert isinstance(found[1].cause, raised)
    assert (found[0], found[2]) == (0, 2)


def test_nodes_behind_a_failure_are_passed_except_release() -> None:
    probes = probed("pingpong", failing({1: "bind"}))
    outcomes(probes, [None] * 3)
    assert {node for node, step in probes.calls() if step == 1} == {"prepare", "bind", "release"}


def test_release_sees_the_error() -> None:
    seen: list[Any] = []

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "release":
            seen.append(step.error)
        failing({1: "dispatch"})(node, step, slots)

    found = outcomes(probed("pingpong", behave), [None] * 3)
    assert seen == [None, found[1], None]


def test_the_first_failure_of_a_step_is_the_one_that_is_told() -> None:
    def behave(node: str, step: Any, slots: Any) -> None:
        if node in ("dispatch", "release"):
            raise Failure(node)

    found = outcomes(probed("pingpong", behave), [None] * 2)
    assert [outcome.node for outcome in found] == ["dispatch", "dispatch"]


FIELDS = topology(
    types={"Pair": {"a": "int64[1]", "b": "int64[1]"}, "Box": "resource"},
    buffers={"pair": {"type": "Pair", "slots": 2}, "box": {"type": "Box", "slots": 2}},
    nodes={
        "take": {"kind": "prepare", "acquires": ["pair", "box"], "writes": ["pair.a"]},
        "work": {"kind": "dispatch", "writes": ["pair.b", "box"]},
        "give": {"kind": "release", "reads": ["pair", "box"], "releases": ["pair", "box"]},
    },
    edges={"take -> work": {"carries": ["pair", "box"]}, "work -> give": {"carries": ["pair", "box"]}},
    lanes={"host": ["take"], "device": ["work"], "out": ["give"]},
)


def test_release_sees_what_was_written_and_never_the_slots_last_tenant() -> None:
    seen: dict[int, Any] = {}

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "take":
            slots.pair.a.fill_(step.index)
        if node == "work":
            slots.pair.b.fill_(100 + step.index)
            slots.box["step"] = step.index
        if node == "give":
            pair, box = slots.pair, slots.box
            seen[step.index] = pair and (
                pair.a is not None and pair.a.item(),
                pair.b is not None and pair.b.item(),
                box and box["step"],
            )
        failing({2: "work", 3: "take"})(node, step, slots)

    outcomes(probed(FIELDS, behave), [None] * 5)
    assert seen[1] == (1, 101, 1)
    assert seen[2] == (
        2,
        False,
        None,
    )  # `work` failed: what it left half written is as absent as what it never wrote
    assert seen[3] == (False, False, None)  # `take` failed after it had acquired the slot
    assert seen[4] == (4, 104, 4)


LOOKING_BACK = topology(
    types={"T": {"x": "int64[1]"}},
    buffers={"slot": {"type": "T", "slots": 3}},
    nodes={
        "make": {"kind": "bind", "acquires": ["slot"], "writes": ["slot"], "reads": ["slot@1"]},
        "drop": {"kind": "release", "releases": ["slot"]},
        "empty": {"kind": "reclaim"},
    },
    edges={"make -> drop": {"carries": ["slot"]}, "make@1 -> make": {"lends": ["slot"]}},
    lanes={"host": ["make", "drop@1"], "out": ["empty"]},
    routes={"full": ["make", "drop"], "none": ["empty"]},
)


def test_what_a_step_left_is_absent_where_it_failed_or_never_held_the_slot() -> None:
    seen: dict[int, int | None] = {}

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "make":
            before = slots.at(1).slot
            seen[step.index] = None if before is None else before.x.item()
            slots.slot.x.fill_(step.index)
        failing({2: "make"})(node, step, slots)

    probes = probed(LOOKING_BACK, behave)
    with probes.run(checked=True, record=False) as run:
        tickets = [
            run.submit(i, route=route) for i, route in enumerate(["full"] * 4 + ["none"] + ["full"] * 2)
        ]
        for ticket in tickets:
            ticket.exception(timeout=HANG_S)
    assert seen[0] is None  # the first step
    assert seen[1] in (0, None)
    assert seen[3] is None  # step 2 failed
    assert seen[5] is None  # step 4 takes another route


def test_a_step_may_visit_no_node() -> None:
    probes = probed(
        topology(nodes={"a": {"kind": "bind"}}, lanes={"l": ["a"]}, routes={"r": ["a"], "idle": []})
    )
    assert outcomes(probes, ["r", "idle", "idle", "r", "idle"]) == [None] * 5


def test_a_node_without_failure_is_not_disturbed_by_one_that_fails_every_time() -> None:
    found = outcomes(probed("deep", failing(dict.fromkeys(range(0, 20, 2), "prepare"))), [None] * 20)
    assert [isinstance(outcome, StepError) for outcome in found] == [True, False] * 10


def test_probes_without_failures_are_quiet() -> None:
    assert outcomes(probed("pingpong", nothing), [None] * 3) == [0, 1, 2]
