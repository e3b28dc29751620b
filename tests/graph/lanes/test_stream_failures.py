"""A call that fails on the queue fails its step, in its place; what was launched behind it is not believed."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from graph import StepError, Unfinished, load
from graph.errors import Overtaken
from graph.files import shipped
from tests.fakes import HANG_S, Gate, chain, topology, until
from tests.graph.firing_order import violations
from tests.graph.lanes.streaming import QueuedProbe, Streamed, some_lanes, streamed
from tests.graph.random_topologies import sound
from tests.graph.test_runtime_failures import PLACES

pytestmark = pytest.mark.usefixtures("nothing_left")

TOPOLOGIES = {name: load(name) for name in shipped() if name != "decode"}


class Failure(Exception):
    pass


def failing(places: Mapping[int, str]) -> Any:
    def behave(node: str, index: Any, tensors: Any) -> None:
        if places.get(getattr(index, "index", index)) == node:
            raise Failure(node)

    return behave


def check(probes: Streamed, routes: list[str], places: Mapping[int, str]) -> None:
    """`places` has the node at which a step fails."""
    with probes.run(checked=True, switch_interval_ms=None) as run:
        tickets = [run.submit(index, route=route) for index, route in enumerate(routes)]
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert (run.held_slots(), run.quarantined) == ([], [])
    for index, error in enumerate(found):
        if index in places:
            assert isinstance(error, StepError)
            assert (error.node, error.step) == (places[index], index)
            assert isinstance(error.cause, Failure)
        else:
            assert error is None
    assert violations(probes.program.topology, probes.log) == []


@pytest.mark.parametrize(("name", "route", "node"), PLACES)
def test_error_takes_its_steps_place(name: str, route: str, node: str) -> None:
    check(streamed(TOPOLOGIES[name], None, failing({1: node})), [route] * 4, {1: node})


@pytest.mark.usefixtures("hectic")
def test_steps_of_random_topologies_fail_at_random_places() -> None:
    seed = 331
    print("seed", seed)
    source = random.Random(seed)
    for number, drawn in enumerate(sound(seed, 60)):
        routes = drawn.steps_routes()
        taken = [source.choice(list(routes)) for _ in range(10)]
        places = {
            index: source.choice(routes[route])
            for index, route in enumerate(taken)
            if routes[route] and source.random() < 0.5
        }
        check(streamed(drawn, some_lanes(drawn, seed + number), failing(places)), taken, places)


def test_of_two_entries_that_fail_on_the_queue_the_first_is_told() -> None:
    def behave(node: str, index: Any, tensors: Any) -> None:
        raise Failure(node)

    with streamed(chain(["a", "b"]), None, behave).run() as run:
        error = run.submit(0).exception(timeout=HANG_S)
    assert isinstance(error, StepError)
    assert error.node == "a"


def test_what_a_failed_step_launched_behind_its_failure_sends_no_value() -> None:
    """`b` puts its value as it is launched, before `a` is known to fail."""
    got: list[Any] = []
    source = topology(
        types={"Word": "value"},
        nodes={"a": {"kind": "bind"}, "b": {"kind": "bind"}, "c": {"kind": "release"}},
        edges={"a -> b": {}, "b -> c": {"value": "Word"}},
        lanes={"device": ["a", "b"], "output": ["c"]},
    )
    gate = Gate()

    def behave(node: str, index: Any, tensors: Any) -> None:
        if (node, index) == ("a", 0):
            gate.pass_through()
            raise Failure

    probes = streamed(source, ["device"], behave)
    putting, getting = probes.executor.nodes["b"], probes.executor.nodes["c"]

    def put(step: Any, slots: Any, run: Any = putting.run) -> Any:
        step.put("Word", step.index)
        return run(step, slots)

    putting.run = put  # type: ignore[method-assign]
    getting.run = lambda step, slots: got.append(step.get("Word"))  # type: ignore[method-assign]
    with probes.run() as run:
        tickets = [run.submit(index) for index in range(2)]
        gate.wait()
        until(lambda: ("b", 0) in probes.launches, "`b` is launched behind `a`")
        gate.open()
        assert isinstance(tickets[0].exception(timeout=HANG_S), StepError)
        assert tickets[1].exception(timeout=HANG_S) is None
    assert got == [None, 1]


@pytest.mark.parametrize("lanes", [["device"], ["device", "output"], None], ids=["one", "two", "all"])
def test_release_sees_the_error(lanes: list[str] | None) -> None:
    seen: list[Any] = []
    probes = streamed("pingpong", lanes, failing({1: "dispatch"}))
    releasing = probes.executor.nodes["release"]

    def release(step: Any, slots: Any, run: Any = releasing.run) -> Any:
        seen.append(step.error)
        return run(step, slots)

    releasing.run = release  # type: ignore[method-assign]
    with probes.run() as run:
        tickets = [run.submit(index) for index in range(3)]
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert seen == found


def test_release_sees_the_error_of_the_entry_before_it_on_its_own_queue() -> None:
    gate, seen = Gate(), list[Any]()

    def behave(node: str, index: Any, tensors: Any) -> None:
        if (node, index) == ("a", 0):
            gate.pass_through()
            raise Failure

    source = topology(
        nodes={"a": {"kind": "dispatch"}, "b": {"kind": "release"}},
        edges={"a -> b": {}},
        lanes={"device": ["a", "b"]},
    )
    probes = streamed(source, None, behave)
    probes.executor.nodes["b"].run = lambda step, slots: seen.append(step.error)  # type: ignore[method-assign]
    with probes.run() as run:
        tickets = [run.submit(index) for index in range(2)]
        gate.wait()
        assert seen == []
        gate.open()
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert isinstance(found[0], StepError)
    assert seen == [found[0], None]


LENT = topology(
    types={"T": {"x": "int64[1]"}},
    buffers={"kept": {"type": "T", "slots": 3}},
    nodes={
        "fill": {"kind": "bind", "acquires": ["kept"], "writes": ["kept"]},
        "use": {"kind": "reclaim", "reads": ["kept@1"], "emits": "results"},
        "release": {"kind": "release", "releases": ["kept"]},
    },
    edges={"fill -> use": {}, "fill@1 -> use": {"lends": ["kept"]}, "fill -> release": {"carries": ["kept"]}},
    lanes={"device": ["fill", "use", "release@1"]},
)
"""`use` looks at the slot of the step before, on the same queue."""


def test_what_was_launched_when_the_step_failed_that_it_reads_from_fails_too() -> None:
    gate, absent = Gate(), dict[int, bool]()

    def behave(node: str, index: Any, tensors: Any) -> None:
        if (node, index) == ("fill", 0):
            gate.pass_through()
            raise Failure

    probes = streamed(LENT, None, behave)
    using = probes.executor.nodes["use"]

    def use(step: Any, slots: Any, run: Any = using.run) -> Any:
        absent[step.index] = slots.at(1).kept is None
        return run(step, slots)

    using.run = use  # type: ignore[method-assign]
    with probes.run(queue=5) as run:
        tickets = [run.submit(index) for index in range(5)]
        gate.wait()
        until(lambda: ("use", 1) in probes.launches, "`use` of step 1 is launched")
        gate.open()
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    first, second = found[:2]
    assert isinstance(first, StepError)
    assert isinstance(first.cause, Failure)
    assert isinstance(second, StepError)
    assert (second.node, second.step) == ("use", 1)
    assert isinstance(second.cause, Overtaken)
    assert found[2:] == [None] * 3
    assert absent == {0: True, 1: False, 2: True, 3: False, 4: False}


def test_unfinished_work_quarantines_its_slots() -> None:
    def behave(node: str, index: Any, tensors: Any) -> None:
        if (node, index) == ("dispatch", 1):
            raise Unfinished("who knows")

    probes = streamed("pingpong", ["device"], behave)
    with probes.run(checked=True) as run:
        kept = {name: run.pools[name].slots[1] for name in ("inputs", "outputs")}
        tickets = [run.submit(index) for index in range(5)]
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert [isinstance(error, StepError) for error in found] == [False, True, False, False, False]
    assert sorted(run.quarantined) == [("inputs", 1, 1), ("outputs", 1, 1)]
    for name, slot in kept.items():
        assert run.pools[name].quarantined[0] is slot
        assert all(slot is not other for other in run.pools[name].slots)


def filled_and_looked_at() -> Streamed:
    """Two nodes on one stream: `fill` writes what `look` only reads."""
    source = topology(
        types={"T": {"x": "int64[1]"}},
        buffers={"kept": {"type": "T", "slots": 2}},
        nodes={
            "fill": {"kind": "bind", "acquires": ["kept"], "writes": ["kept"]},
            "look": {"kind": "dispatch", "reads": ["kept"]},
            "release": {"kind": "release", "releases": ["kept"]},
        },
        edges={"fill -> look": {"carries": ["kept"]}, "look -> release": {"carries": ["kept"]}},
        lanes={"device": ["fill", "look"], "output": ["release"]},
    )
    return streamed(source, ["device"])


def test_a_write_that_is_not_declared_is_caught_where_the_queue_makes_it() -> None:
    probes = filled_and_looked_at()
    filling, looking = probes.executor.nodes["fill"], probes.executor.nodes["look"]

    def fill(step: Any, slots: Any) -> None:
        tensor = slots.kept.x
        filling.stream.enqueue(lambda: tensor.fill_(1))  # type: ignore[attr-defined]

    def look(step: Any, slots: Any) -> None:
        tensor = slots.kept.x
        if step.index == 1:
            looking.stream.enqueue(lambda: tensor.fill_(2))  # type: ignore[attr-defined]

    filling.run, looking.run = fill, look  # type: ignore[method-assign]
    with probes.run(checked=True) as run:
        found = [run.submit(index).exception(timeout=HANG_S) for index in range(3)]
    assert [error is None for error in found] == [True, False, True]
    assert "`look` wrote what it declares only as read: kept.x" in str(found[1])


def test_a_checked_launch_does_not_answer_for_what_the_queue_does_meanwhile() -> None:
    """Work that was put on the queue before used to be taken for the node's own writing."""
    probes = filled_and_looked_at()
    filling, looking = probes.executor.nodes["fill"], probes.executor.nodes["look"]
    assert isinstance(filling, QueuedProbe)
    written = threading.Event()
    launched = threading.Event()

    def fill(step: Any, slots: Any) -> None:
        tensor = slots.kept.x

        def work() -> None:
            assert launched.wait(HANG_S)
            tensor.fill_(1)
            written.set()

        assert filling.stream is not None
        filling.stream.enqueue(work)

    def look(step: Any, slots: Any) -> None:
        launched.set()
        assert slots.kept.x is not None
        assert written.wait(HANG_S)  # it is written while this node launches

    filling.run, looking.run = fill, look  # type: ignore[method-assign]
    with probes.run(checked=True) as run:
        assert run.submit("step").exception(timeout=HANG_S) is None
