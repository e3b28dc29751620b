"""What a child is told of the turns that have arrived."""

from __future__ import annotations

import marshal
from typing import Any

import pytest

from graph.lanes.process import ProcessLane
from graph.lanes.thread import Shared
from graph.stepping import StepRecord


def lane_of(shared: Shared, max_lag: int = 2) -> ProcessLane:
    def no_plan() -> Any:
        pytest.fail("nothing is spawned")

    return ProcessLane("lane", no_plan, shared, max_lag, lambda record: None)


def told(lane: ProcessLane) -> list[tuple[Any, ...]]:
    found = []
    while not lane._outgoing.empty():
        kind, *content = marshal.loads(lane._outgoing.get() or b"")
        found.append((kind, content[0]))
    return found


def arrive(shared: Shared, *turns: str) -> None:
    for what in turns:
        if what == "step":
            record = StepRecord(shared.arrived, 0, "default", frozenset(), None, ())
            shared.records[shared.arrived] = record
        shared.arrived += 1


def test_each_turn_is_told_once_in_order() -> None:
    shared = Shared({}, [])
    lane = lane_of(shared)
    lane.release()
    arrive(shared, "step", "bubble")
    lane.release()
    lane.release()
    arrive(shared, "step")
    lane.release()
    assert told(lane) == [("step", 0), ("bubble", 1), ("step", 2)]


def test_of_the_turns_after_the_last_step_only_the_end_is_told() -> None:
    """They used to be told as bubbles, and a lane that saw those before the end went on past it and never ended."""
    shared = Shared({}, [])
    lane = lane_of(shared)
    arrive(shared, "step", "step")
    lane.release()
    shared.last_turn = 4
    lane.release()
    shared.arrived = 5
    lane.release()
    assert told(lane) == [("step", 0), ("step", 1), ("end", 4)]


def test_steps_that_were_not_told_yet_come_before_the_end() -> None:
    shared = Shared({}, [])
    lane = lane_of(shared)
    arrive(shared, "step", "bubble")
    shared.last_turn, shared.arrived = 4, 5
    lane.release()
    assert told(lane) == [("step", 0), ("bubble", 1), ("end", 4)]
