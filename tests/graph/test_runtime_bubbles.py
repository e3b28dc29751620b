"""Where a lagged node holds a result back and nothing more is submitted, the run goes on with bubbles."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from graph import Topology
from graph.bubbles import bubbles_needed
from tests.fakes import HANG_S, Gate, chain, gated, probed, topology, until
from tests.graph.random_topologies import sound

pytestmark = pytest.mark.usefixtures("nothing_left")


def lagging(lag: int) -> Topology:
    """A host lane that reclaims `lag` steps behind what it prepares, and a device lane."""
    return topology(
        nodes={
            "prepare": {"kind": "prepare"},
            "dispatch": {"kind": "dispatch"},
            "reclaim": {"kind": "reclaim", "emits": "results"},
        },
        edges={"prepare -> dispatch": {}, "dispatch -> reclaim": {}},
        lanes={"host": ["prepare", f"reclaim@{lag}"], "device": ["dispatch"]},
        in_flight=lag + 1,
    )


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_a_result_never_waits_for_the_next_command(lag: int) -> None:
    with probed(lagging(lag)).run(checked=True) as run:
        for index in range(20):
            assert run.submit(index).result(timeout=HANG_S) == index


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("lag", [1, 2, 3])
def test_sporadic_commands_get_their_results(lag: int) -> None:
    seed = 50 + lag
    print("seed", seed)
    source = random.Random(seed)
    with probed(lagging(lag)).run(checked=True, switch_interval_ms=None) as run:
        tickets = []
        for index in range(150):
            tickets.append(run.submit(index))
            if source.random() < 0.3:
                time.sleep(source.random() * 0.001)
            if source.random() < 0.2:
                assert tickets[-1].result(timeout=HANG_S) == index
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == list(range(150))


@pytest.mark.usefixtures("hectic")
def test_a_single_step_of_any_topology_comes_through_alone() -> None:
    seed = 61
    print("seed", seed)
    for drawn in sound(seed, 60):
        with probed(drawn).run(switch_interval_ms=None) as run:
            for route in drawn.steps_routes():
                run.submit(0, route=route).result(timeout=HANG_S)


def test_a_failed_step_does_not_wait_for_the_next_command_either() -> None:
    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "dispatch":
            raise ValueError(node)

    with probed(lagging(2), behave).run() as run:
        assert run.submit(0).exception(timeout=HANG_S) is not None


def test_a_bubble_calls_no_node_and_is_counted_nowhere() -> None:
    probes = probed(lagging(1))
    with probes.run() as run:
        for index in range(5):
            run.submit(index).result(timeout=HANG_S)
        assert run.bubbles > 0
        assert {span.step for span in run.spans()} == set(range(5))
    assert sorted(probes.calls()) == sorted(
        (node, i) for node in ("prepare", "dispatch", "reclaim") for i in range(5)
    )


def test_no_bubble_is_made_while_a_wait_of_the_node_it_would_free_is_not_met() -> None:
    gate = Gate()
    with probed(lagging(1), gated("dispatch", 0, gate)).run() as run:
        ticket = run.submit(0)
        gate.wait()
        until(lambda: run._shared.starved, "the host lane has found nothing to do")
        time.sleep(0.02)  # time in which a bubble could be made
        assert run.bubbles == 0
        gate.open()
        assert ticket.result(timeout=HANG_S) == 0
        assert run.bubbles == 1


def test_a_step_that_is_submitted_meanwhile_takes_the_bubbles_turn() -> None:
    gates = [Gate(), Gate()]

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "dispatch" and step.index < 2:
            gates[step.index].pass_through()

    with probed(lagging(1), behave).run() as run:
        first = run.submit(0)
        gates[0].wait()
        second = run.submit(1)
        gates[0].open()
        assert first.result(timeout=HANG_S) == 0  # `reclaim` of it ran in the turn of step 1
        assert run.bubbles == 0
        gates[1].open()
        assert second.result(timeout=HANG_S) == 1


def test_a_topology_without_lags_makes_none() -> None:
    with probed("pingpong").run() as run:
        for index in range(10):
            run.submit(index).result(timeout=HANG_S)
        assert run.bubbles == 0


def test_a_saturated_run_makes_none_between_steps() -> None:
    """With the next command always at hand, a bubble would only cost a turn."""
    gate = Gate()
    with probed(lagging(1), gated("prepare", 0, gate)).run(queue=30) as run:
        tickets = [run.submit(index) for index in range(30)]
        gate.open()
        for ticket in tickets[:-1]:
            ticket.result(timeout=HANG_S)
        assert run.bubbles <= 1  # after the last one


def test_bubbles_are_bounded_by_what_they_free() -> None:
    probes = probed(chain(["a"], ["b@1", "c@2"], ["d@3"]))
    with probes.run() as run:
        for index in range(30):
            run.submit(index).result(timeout=HANG_S)
        assert 0 < run.bubbles <= 30 * 3


@pytest.mark.parametrize(
    ("prepare", "dispatch", "reclaim", "arrived", "needed"),
    [
        (1, 0, 1, 1, 0),  # dispatch(0) is at work
        (1, 1, 1, 1, 1),  # reclaim(0) comes after prepare(1)
        (2, 1, 1, 2, 0),  # reclaim(0) can run now
        (2, 1, 2, 2, 0),  # dispatch(1) is at work
        (2, 2, 2, 2, 1),  # reclaim(1) comes after prepare(2)
        (0, 0, 0, 0, 0),  # nothing was ever submitted
    ],
)
def test_bubbles_needed(prepare: int, dispatch: int, reclaim: int, arrived: int, needed: int) -> None:
    graph = probed(lagging(1)).program.graph
    done = {"prepare": prepare, "dispatch": dispatch, "reclaim": reclaim}
    found = bubbles_needed(
        done, graph.lag, graph.arcs, ("prepare",), arrived, lambda _, step: 0 <= step < arrived
    )
    assert found == needed


@pytest.mark.parametrize("lag", [2, 3])
def test_a_node_several_steps_behind_gets_as_many_bubbles(lag: int) -> None:
    graph = probed(lagging(lag)).program.graph
    done = {"prepare": 1, "dispatch": 1, "reclaim": 1}
    assert bubbles_needed(done, graph.lag, graph.arcs, ("prepare",), 1, lambda _, step: step == 0) == lag
