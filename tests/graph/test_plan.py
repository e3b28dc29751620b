from __future__ import annotations

import random
from fractions import Fraction

import pytest

from graph import Topology, load
from graph.durations import durations_of
from graph.plan import first_steps, plan, predict
from graph.useful_slots import with_slots
from tests.graph.random_topologies import sound
from tests.graph.settling import settled_period

ALONE = {"interpreter": (), "accelerator": ()}
"""Nodes share nothing but lanes and slots."""


def drawn(source: random.Random, topology: Topology) -> dict[str, int]:
    return {node: source.choice((0, 1, 1, 2, 3, 5)) for node in topology.nodes}


def exactly(times: dict[str, int]) -> dict[str, Fraction]:
    return {node: Fraction(time) for node, time in times.items()}


def test_the_period_is_what_as_soon_as_possible_execution_settles_to() -> None:
    seed = 11
    print(f"seed {seed}")
    source = random.Random(seed)
    told = 0
    for topology in sound(seed, 150):
        for route in topology.steps_routes():
            times = drawn(source, topology)
            expected = settled_period(topology, times, route)
            assert predict(topology, exactly(times), route, ALONE).period == expected, topology
            told += expected > 0
    assert told > 100


def test_the_period_of_fractions_of_milliseconds_is_exact() -> None:
    sync = load("sync")
    times = durations_of(load("sync", ["costs={prepare: 0.1, dispatch: 0.2, reclaim: 0.4}"])).times
    assert predict(sync, times).period == Fraction(7, 10)


def test_nodes_that_the_route_leaves_out_take_no_time() -> None:
    times = dict.fromkeys(load("pingpong").nodes, Fraction(1)) | {"prefill": Fraction(100)}
    assert predict(load("pingpong"), times, "prefill").period == 100
    assert predict(load("pingpong"), times, "decode").period < 100


def test_the_default_route_is_the_first() -> None:
    assert predict(load("pingpong"), durations_of(load("pingpong")).times).route == "decode"


def test_an_unknown_route_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        predict(load("pingpong"), durations_of(load("pingpong")).times, "verify")


def test_a_shared_resource_holds_the_period_up() -> None:
    topology = load("pingpong", ["costs={prepare: 30, dispatch: 40, reclaim: 30}"])
    times = durations_of(topology).times
    alone, together = predict(topology, times, stated=ALONE), predict(topology, times)
    assert (alone.period, alone.limit.kind) == (50, "cycle")
    assert (together.period, together.limit.kind) == (60, "resource")
    assert together.limit.text == "the interpreter lock: prepare + reclaim"


def test_useful_slots_used_together_reach_the_best_period_and_one_less_of_any_does_not() -> None:
    seed = 12
    print(f"seed {seed}")
    source = random.Random(seed)
    fewer = 0
    for topology in sound(seed, 150):
        times = exactly(drawn(source, topology))
        found = plan(predict(topology, times, stated=ALONE))
        counts = found.slots.counts
        assert found.best <= found.prediction.period
        if any(code in ("LF301", "LF302") for code in found.slot_faults):
            raise AssertionError("the search must not propose a deadlock")
        given = with_slots(topology, counts)
        assert predict(given, times, stated=ALONE).period == found.best
        for name in counts:
            if counts[name] > 1:
                less = plan_or_none(with_slots(topology, {**counts, name: counts[name] - 1}), times)
                assert less is None or less > found.best
                fewer += 1
    assert fewer > 20


def plan_or_none(topology: Topology, times: dict[str, Fraction]) -> Fraction | None:
    """The period; None where the topology deadlocks or a node waits for a later turn."""
    from graph.validate import faults

    if any(fault.code in ("LF301", "LF302") for fault in faults(topology)):
        return None
    return predict(topology, times, stated=ALONE).period


def test_no_number_of_slots_does_better_than_the_best() -> None:
    source = random.Random(13)
    for topology in sound(13, 60):
        times = exactly(drawn(source, topology))
        found = plan(predict(topology, times, stated=ALONE))
        names = [name for name, buffer in topology.buffers.items() if not buffer.persistent]
        assert (
            predict(with_slots(topology, dict.fromkeys(names, 40)), times, stated=ALONE).period == found.best
        )


def test_slots_with_which_the_topology_would_not_be_sound_are_told() -> None:
    topology = load("pingpong", ["buffers.inputs.slots=1", *SCRATCH])
    found = plan(predict(topology, durations_of(topology).times))
    assert found.slots.counts["inputs"] == 2
    assert found.slot_faults == ("LF207",)


SCRATCH = (
    "buffers.scratch={type: DecodeInputs, persistent: true, place: pinned}",
    "nodes.prepare.writes=[inputs.rows, inputs.generation, inputs.pages, scratch]",
    "nodes.dispatch.reads=[inputs, scratch]",
)
"""One slot of `inputs` keeps the writer and the reader of `scratch` apart."""


def test_first_steps_are_in_milliseconds_from_the_first_start() -> None:
    topology = load("pingpong")
    firings = first_steps(predict(topology, durations_of(topology).times), 2)
    dispatches = [(one.step, one.start, one.end) for one in firings if one.node == "dispatch"]
    assert dispatches == [(0, 4.4, 49.4), (1, 49.4, 94.4)]
    assert {one.node for one in firings} == set(topology.routes["decode"])


def test_lanes_are_as_busy_as_their_nodes() -> None:
    topology = load("pingpong")
    lanes = predict(topology, durations_of(topology).times).lanes
    assert lanes == {"host": Fraction(22, 5), "device": Fraction(45), "output": Fraction(2)}
