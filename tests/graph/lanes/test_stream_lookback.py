"""How many launches back an entry of a stream lane waits for: only where completion decides what it may do."""

from __future__ import annotations

from graph import Topology, compile, load
from graph.lanes.stream import LAUNCHED, Lookback, lookback
from tests.fakes import chain, topology


def of(source: Topology, lane: str) -> list[Lookback]:
    program = compile(source)
    return lookback(next(one for one in program.lanes if one.name == lane), program.topology, program.graph)


def test_entries_without_slots_between_them_are_launched_a_turn_ahead() -> None:
    assert of(chain(["a", "b", "c"]), "lane0") == [Lookback(3 * LAUNCHED, 3 * LAUNCHED)] * 3


def test_a_limit_on_the_steps_in_flight_is_kept_by_completion() -> None:
    first, second = of(chain(["a", "b"], in_flight=1), "lane0")
    assert first == Lookback(1, 1)  # `b` of the step before
    assert second == Lookback(2 * LAUNCHED, 2 * LAUNCHED)


def ring(slots: int) -> Topology:
    return topology(
        types={"T": {"x": "int64[1]"}},
        buffers={"kept": {"type": "T", "slots": slots}},
        nodes={
            "take": {"kind": "bind", "acquires": ["kept"], "writes": ["kept"]},
            "give": {"kind": "release", "releases": ["kept"]},
        },
        edges={"take -> give": {"carries": ["kept"]}},
        lanes={"device": ["take", "give"]},
    )


def test_a_slot_that_the_lane_gives_back_itself_is_acquired_after_completion() -> None:
    assert of(ring(1), "device")[0] == Lookback(1, 1)  # `give` of the step before
    assert of(ring(2), "device")[0] == Lookback(3, 3)


def test_a_release_node_that_is_called_waits_for_its_own_step() -> None:
    assert of(ring(2), "device")[1] == Lookback(1, 2 * LAUNCHED)


def test_a_lagged_release_node_waits_for_its_own_step_which_is_further_back() -> None:
    lagged = topology(
        nodes={"work": {"kind": "dispatch"}, "give": {"kind": "release"}},
        edges={"work -> give": {}},
        lanes={"device": ["work", "give@1"]},
    )
    assert of(lagged, "device")[1].called == 3


def test_a_decode_step_waits_for_nothing_on_the_device_lane() -> None:
    found = of(load("pingpong"), "device")
    assert {one.passed for one in found} == {3 * LAUNCHED}
