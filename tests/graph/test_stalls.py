"""What lanes waited for, found out from spans afterwards."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest

from graph import Runtime, Topology, compile, load
from graph.stalls import Cause, Stall, stalls
from graph.trace import Span
from nodes.simulated import simulated
from tests.fakes import chain, delayed, probed
from tests.graph.random_topologies import sound
from tests.graph.spans import PIPELINE, span


def found(*spans: Span, topology: Topology = PIPELINE) -> list[tuple[str, str, int, Cause, float, float]]:
    """Stalls with times in milliseconds."""
    return [
        (one.lane, one.node, one.turn, one.cause, one.start / 1e6, one.end / 1e6)
        for one in stalls(sorted(spans, key=lambda one: one.start), compile(topology))
    ]


def test_a_wait_lasts_until_the_last_thing_that_was_missing_and_the_rest_is_overhead() -> None:
    seen = found(span("prepare", 0, 1, 3), span("dispatch", 0, 4, 9, ready=2))
    assert ("device", "dispatch", 0, Cause("edge", "prepare"), 2, 3) in seen
    assert ("device", "dispatch", 0, Cause("overhead"), 3, 4) in seen


def test_a_lane_that_comes_late_waits_for_nothing() -> None:
    seen = found(span("prepare", 0, 1, 3), span("dispatch", 0, 4, 9, ready=4))
    assert [one for one in seen if one[0] == "device"] == []


def test_a_call_that_was_launched_ahead_waits_for_nothing_while_the_queue_is_busy() -> None:
    """`dispatch` of step 1 is launched at 3, while step 0 has the queue until 9, and begins at 10."""
    seen = found(
        span("prepare", 0, 0, 1),
        span("dispatch", 0, 1, 9),
        span("prepare", 1, 1, 2),
        span("dispatch", 1, 10, 12, ready=3),
    )
    assert [one for one in seen if one[:3] == ("device", "dispatch", 1)] == [
        ("device", "dispatch", 1, Cause("overhead"), 9, 10)
    ]


def test_a_wait_for_a_slot_names_the_buffer_and_who_gave_it_back() -> None:
    """Two slots: prepare of step 2 takes the one that step 0 has until 14."""
    seen = found(
        span("prepare", 0, 0, 1),
        span("dispatch", 0, 1, 2),
        span("prepare", 1, 2, 3),
        span("reclaim", 0, 2, 3),
        span("release", 0, 13, 14, ready=3),
        span("prepare", 2, 15, 16, ready=3),
    )
    assert ("host", "prepare", 2, Cause("slot", "release", "inputs"), 3, 14) in seen
    assert ("host", "prepare", 2, Cause("overhead"), 14, 15) in seen


def test_an_entry_waits_for_its_step_to_be_submitted() -> None:
    seen = found(span("prepare", 0, 0, 1), span("prepare", 1, 8, 9, ready=1, submitted=7))
    assert ("host", "prepare", 1, Cause("command"), 1, 7) in seen


def test_the_limit_of_steps_in_flight_is_a_cause_of_its_own() -> None:
    topology = chain(["a"], ["b"], in_flight=1)
    seen = found(
        span("a", 0, 0, 1, route="default", lane="lane0"),
        span("b", 0, 1, 5, route="default", lane="lane1"),
        span("a", 1, 6, 7, route="default", lane="lane0", ready=1),
        topology=topology,
    )
    assert ("lane0", "a", 1, Cause("in_flight", "b"), 1, 5) in seen


def test_a_wait_behind_a_passed_node_is_laid_to_the_node_that_worked() -> None:
    """Step 1 takes a route without `b`: `c` waits for lane1, which passes `b` and was busy with step 0 until 9."""
    topology = chain(["a"], ["b"], ["c"], routes={"full": ["a", "b", "c"], "short": ["a", "c"]})
    seen = found(
        span("a", 0, 0, 1, route="full", lane="lane0"),
        span("b", 0, 1, 9, route="full", lane="lane1"),
        span("a", 1, 1, 2, route="short", lane="lane0"),
        span("c", 0, 9, 9.5, route="full", lane="lane2"),
        span("c", 1, 9.6, 10, route="short", lane="lane2", ready=9.5),
        topology=topology,
    )
    assert ("lane2", "c", 1, Cause("overhead"), 9.5, 9.6) in seen
    slow = found(
        span("a", 0, 0, 1, route="short", lane="lane0"),
        span("c", 0, 1, 2, route="short", lane="lane2"),
        span("a", 1, 1, 6, route="short", lane="lane0"),
        span("c", 1, 6, 7, route="short", lane="lane2", ready=2),
        topology=topology,
    )
    assert ("lane2", "c", 1, Cause("edge", "a"), 2, 6) in slow


def test_no_spans_are_no_stalls() -> None:
    assert found() == []


def idle_and_told(spans: list[Span], told: list[Stall], lane: str) -> tuple[int, int]:
    """The time in which no node was at work, and what stalls say of it, from the lane's first firing to its last."""
    own = [one for one in spans if one.lane == lane]
    idle = own[-1].end - own[0].start - sum(one.end - one.start for one in own)
    between = [one for one in told if one.lane == lane and own[0].end <= one.start and one.end <= own[-1].end]
    return idle, sum(one.end - one.start for one in between)


@pytest.mark.parametrize("name", ["sync", "pingpong", "overlap", "latebind"])
def test_all_idle_time_of_a_lane_is_told_once(name: str, nothing_left: None) -> None:
    topology = load(name)
    routes = ("decode", "prefill", "decode", "decode", "retire")
    costs = {"prepare": 0.2, "dispatch": 1.0, "reclaim": 0.2}
    with Runtime(compile(topology), simulated(topology, costs, holds_lock=False)) as run:
        for number in range(30):
            run.submit(number, route=routes[number % len(routes)])
    spans = run.spans()
    told = stalls(spans, run.program)
    for lane in topology.lanes:
        idle, explained = idle_and_told(spans, told, lane)
        assert idle == explained, lane


def test_of_random_runs_all_idle_time_is_told_and_no_two_stalls_of_a_lane_overlap(nothing_left: None) -> None:
    for number, topology in enumerate(sound(seed=23, count=25)):
        made = probed(topology, delayed(number))
        routes = list(topology.steps_routes())
        with made.run() as run:
            for step in range(12):
                run.submit(step, route=routes[step % len(routes)])
        told = stalls(run.spans(), run.program)
        by_lane: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for one in told:
            by_lane[one.lane].append((one.start, one.end))
        for fired in run.spans():
            by_lane[fired.lane].append((fired.start, fired.end))
        for lane, times in by_lane.items():
            times.sort()
            assert all(a[1] <= b[0] for a, b in pairwise(times)), (number, lane)
        for lane in {fired.lane for fired in run.spans()}:
            idle, explained = idle_and_told(run.spans(), told, lane)
            assert idle == explained, (number, lane)


def test_causes_read_as_words() -> None:
    assert str(Cause("edge", "bind")) == "`bind` to end"
    assert str(Cause("slot", "release", "inputs")) == "a slot of `inputs`, until `release` ended"
    assert str(Cause("in_flight", "b")) == "`b` to end (in_flight)"
    assert str(Cause("command")) == "a step to be submitted"
