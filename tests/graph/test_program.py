"""Reduction keeps every proved order with the fewest waits between lanes."""

from __future__ import annotations

import math

import pytest

from graph import Program, Topology, TopologyError, compile, load
from graph.files import shipped
from graph.program import DEFAULT_IN_FLIGHT
from tests.fakes import chain, topology
from tests.graph.firing_order import distances, waits
from tests.graph.random_topologies import sound

NAMES = [name for name in shipped() if name != "decode"]
SEED = 20


def kept(program: Program) -> dict[tuple[str, str], int]:
    """The waits that a run really makes: the lanes' order and the channels."""
    found = {(channel.producer, channel.consumer): channel.tokens for channel in program.channels}
    for lane in program.lanes:
        names = [op.node for op in lane.ops]
        for i, first in enumerate(names):
            for j, second in enumerate(names):
                if i != j:
                    found[first, second] = min(int(i > j), found.get((first, second), 1))
    return found


def bounded(program: Program) -> Topology:
    """The topology, with the limit that `compile` has put on it where it had none."""
    arcs = program.graph.arcs
    limits = {
        arc.tokens - program.graph.lag[arc.target] + program.graph.lag[arc.source]
        for arc in arcs
        if arc.reason == "in_flight"
    }
    return program.topology.model_copy(update={"in_flight": limits.pop() if limits else None})


def check(program: Program) -> None:
    nodes = list(program.topology.nodes)
    reached = distances(nodes, kept(program))
    for (producer, consumer), tokens in waits(bounded(program)).items():
        assert reached[producer, consumer] <= tokens, f"{producer} -> {consumer} is lost"
    for channel in program.channels:
        rest = kept(program)
        del rest[channel.producer, channel.consumer]
        without = distances(nodes, rest)[channel.producer, channel.consumer]
        assert without > channel.tokens, f"{channel.producer} -> {channel.consumer} is implied by others"


@pytest.mark.parametrize("name", NAMES)
def test_shipped_topologies_keep_every_order_with_the_fewest_waits(name: str) -> None:
    check(compile(load(name)))


def test_random_topologies_keep_every_order_with_the_fewest_waits() -> None:
    print("seed", SEED)
    for drawn in sound(SEED, 60):
        check(compile(drawn))


def test_waits_within_a_lane_cost_nothing() -> None:
    assert compile(load("sync")).channels == ()


def test_slot_waits_that_the_decode_chain_implies_are_left_out() -> None:
    waited = {(c.producer, c.consumer) for c in compile(load("pingpong")).channels}
    assert ("release", "prepare") in waited
    assert ("release", "bind") not in waited


def test_every_wait_has_a_signal_at_its_producer() -> None:
    program = compile(load("deep"))
    for index, channel in enumerate(program.channels):
        ops = {op.node: op for lane in program.lanes for op in lane.ops}
        assert index in ops[channel.consumer].waits
        assert index in ops[channel.producer].signals


def test_nodes_without_any_wait_are_bounded_by_a_default() -> None:
    free = topology(nodes={"a": {"kind": "bind"}, "b": {"kind": "bind"}}, lanes={"one": ["a"], "two": ["b"]})
    program = compile(free)
    assert program.depth == DEFAULT_IN_FLIGHT
    assert all(math.isfinite(channel.capacity) for channel in program.channels)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_in_flight_is_the_depth_of_a_chain_over_lanes(limit: int) -> None:
    assert compile(chain(["a"], ["b"], ["c"], in_flight=limit)).depth == limit


def test_a_lane_alone_has_one_step_in_flight() -> None:
    assert compile(chain(["a", "b", "c"])).depth == 1


def test_depth_of_shipped_topologies() -> None:
    depths = {name: compile(load(name)).depth for name in NAMES}
    assert depths["sync"] == 1
    assert depths["deep"] > depths["pingpong"] >= 2


def test_the_largest_back_and_lag_are_known() -> None:
    program = compile(
        topology(
            nodes={"a": {"kind": "bind"}, "b": {"kind": "reclaim"}},
            edges={"a -> b": {}, "b@3 -> a": {}},
            lanes={"one": ["a", "b@2"]},
        )
    )
    assert (program.max_back, program.max_lag) == (3, 2)


def test_an_unsound_topology_is_refused() -> None:
    nodes = {"a": {"kind": "bind"}, "b": {"kind": "bind"}}
    with pytest.raises(TopologyError, match="LF301"):
        compile(topology(nodes=nodes, edges={"a -> b": {}}, lanes={"one": ["b", "a"]}))
