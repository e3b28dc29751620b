"""Preparation and reclaim stay off the device's way: shown by gates, on the order of things, and counted by the report.

A gate holds a device step until what should run beside it has run. Where it cannot, as the lanes do not overlap, the
gate gives up and the test fails.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from deepseek.engine import Engine, Request
from deepseek.model import Model
from deepseek.pipeline import executor
from deepseek.simulated_device import paced
from deepseek.sizes import Sizes
from graph import Executor, Runtime, compile, load
from graph.node import Context, Node, Step
from graph.report import report
from tests.deepseek.tiny import VOCABULARY, tiny_model

SIZES = Sizes(VOCABULARY, context=64, batch=4, capacity=4, rows=1, chunk=16, page=16)
WAIT = 20.0
LENGTHS = (20, 17, 13, 9)

Scene = Callable[[Engine], list[int]]


@cache
def network() -> Model:
    return tiny_model()


class Order:
    """Which node is through with which step, and in which order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self.changed = threading.Condition()

    def tell(self, what: str, step: int) -> None:
        with self.changed:
            self.told.append((what, step))
            self.changed.notify_all()

    def wait(self, what: str, step: int) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: (what, step) in self.told, WAIT):
                raise TimeoutError(f"{what} of step {step} did not run beside the device")

    def before(self, one: tuple[str, int], other: tuple[str, int]) -> bool:
        return self.told.index(one) < self.told.index(other)


class Told:
    """A node that tells when it is through; a gated one waits inside its step for others first."""

    def __init__(self, name: str, node: Node, order: Order, gates: dict[int, list[tuple[str, int]]]) -> None:
        self.name, self.node, self.order, self.gates, self.ports = name, node, order, gates, node.ports
        self.stop = node.stop

    def start(self, context: Context) -> None:
        self.node.start(context)

    def run(self, step: Step, slots: Any) -> Any:
        result = self.node.run(step, slots)
        for gate in self.gates.get(step.index, ()):
            self.order.wait(*gate)
        self.order.tell(self.name, step.index)
        return result


def told(pipeline: Executor, order: Order, gates: dict[int, list[tuple[str, int]]]) -> Executor:
    watched = ("prepare", "dispatch", "reclaim", "release")
    nodes = dict(pipeline.nodes)
    for name in watched:
        nodes[name] = Told(name, nodes[name], order, gates if name == "dispatch" else {})
    return replace(pipeline, nodes=nodes)


@pytest.mark.parametrize("topology", ["pingpong", "deep"])
def test_in_the_steady_state_prepare_and_reclaim_run_inside_device_steps(topology: str) -> None:
    """Dispatch(k) ends only when prepare(k+1) and reclaim(k-1) are through."""
    tokens = 20
    first, last = 1, tokens - 1  # step 0 is the prompt, and gives the first token
    gates: dict[int, list[tuple[str, int]]] = {step: [("prepare", step + 1)] for step in range(first, last)}
    for step in range(first + 1, last + 1):
        gates.setdefault(step, []).append(("reclaim", step - 1))
    order = Order()
    pipeline = told(executor(network(), SIZES), order, gates)
    with Runtime(compile(load(topology)), pipeline, threads=1) as run, Engine(run, SIZES) as engine:
        events = list(engine.generate([Request((1, 2, 3), tokens)]))
    assert [event.error for event in events if event.error] == []
    assert len([event for event in events if event.token is not None]) == tokens
    for step in range(first, last):
        assert order.before(("prepare", step + 1), ("dispatch", step))
        assert order.before(("reclaim", step), ("dispatch", step + 1))


def test_in_sync_nothing_is_prepared_inside_a_device_step() -> None:
    """The check of the check: with one lane the gate would never open."""
    order, seen = Order(), []
    order.wait = lambda what, step: seen.append((what, step) in order.told)  # type: ignore[method-assign]
    pipeline = told(
        executor(network(), SIZES), order, {step: [("prepare", step + 1)] for step in range(1, 9)}
    )
    with Runtime(compile(load("sync")), pipeline, threads=1) as run, Engine(run, SIZES) as engine:
        list(engine.generate([Request((1, 2, 3), 10)]))
    assert seen == [False] * 8


def test_a_slot_is_prepared_anew_only_when_its_reclaim_has_read_it() -> None:
    """Reclaim of step k is held back; prepare(k+2), which takes the same slot, must not run before it ends."""
    order, released = Order(), threading.Event()
    pipeline = executor(network(), SIZES)

    class Slow:
        def __init__(self, node: Node) -> None:
            self.node, self.ports, self.start, self.stop = node, node.ports, node.start, node.stop

        def run(self, step: Step, slots: Any) -> Any:
            if step.index == 2:
                order.wait("dispatch", 3)
                before = slots.inputs.rows.clone()
                assert not released.wait(0.2)
                order.tell("held", 2)
                assert bool((slots.inputs.rows == before).all())
                assert ("prepare", 4) not in order.told
            return self.node.run(step, slots)

    pipeline = told(
        replace(pipeline, nodes={**pipeline.nodes, "reclaim": Slow(pipeline.nodes["reclaim"])}), order, {}
    )
    with Runtime(compile(load("pingpong")), pipeline, threads=1) as run, Engine(run, SIZES) as engine:
        events = list(engine.generate([Request((1, 2, 3), 12)]))
    assert [event.error for event in events if event.error] == []
    assert order.before(("held", 2), ("prepare", 4))


def requests() -> Iterator[Request]:
    for number, length in enumerate(LENGTHS):
        yield Request(tuple((number + place) % VOCABULARY for place in range(3 + number)), length)


def one_after_the_other(engine: Engine) -> list[int]:
    return [sum(event.token is not None for event in engine.generate([request])) for request in requests()]


def two_waves(engine: Engine) -> list[int]:
    """The second wave comes when the first request of the first has five tokens."""
    first, second = [engine.add(request) for request in requests()], []
    tokens: dict[str, int] = {}
    for event in engine.events():
        tokens[event.request] = tokens.get(event.request, 0) + (event.token is not None)
        if not second and tokens[event.request] == 5 and event.request == first[0]:
            second = [engine.add(request) for request in requests()]
    return [tokens[name] for name in (*first, *second)]


SCENES = {one_after_the_other: LENGTHS, two_waves: LENGTHS * 2}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
@pytest.mark.parametrize("topology", ["sync", "latebind", "pingpong", "overlap", "deep"])
@pytest.mark.parametrize("drafts", [0, 1])
def test_requests_of_unequal_lengths_complete(scene: Scene, topology: str, drafts: int) -> None:
    sizes = replace(SIZES, rows=drafts + 1)
    with (
        Runtime(compile(load(topology)), executor(network(), sizes), threads=1) as run,
        Engine(run, sizes) as engine,
    ):
        assert tuple(scene(engine)) == SCENES[scene]


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
@pytest.mark.parametrize("topology", ["pingpong", "overlap", "deep"])
@pytest.mark.parametrize("drafts", [0, 1])
def test_all_work_of_steady_steps_is_hidden(scene: Scene, topology: str, drafts: int) -> None:
    """Counted by the report, on a device of 45 ms a step."""
    sizes = replace(SIZES, rows=drafts + 1)
    pipeline = paced(executor(network(), sizes), 45.0)
    with Runtime(compile(load(topology)), pipeline, threads=1) as run, Engine(run, sizes) as engine:
        scene(engine)
    figures = report(run.trace(), route="decode")
    print(figures.prepare_overlap, figures.reclaim_overlap)
    assert figures.prepare_overlap.count == figures.prepare_overlap.of > 0
    assert figures.reclaim_overlap.count == figures.reclaim_overlap.of > 0
