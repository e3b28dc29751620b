"""A copy moves every field, on a queue or on a thread, and its source goes back only when it is through."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from graph import Executor, Runtime, StepError, Topology, compile, load_text
from graph.errors import BindError
from nodes import DispatchNode, PrepareNode, ReclaimNode, ReleaseNode
from nodes.copying import CopyNode
from nodes.misbehaving import FailsAtCompletion, Late, Never, misbehaving
from tests.fakes import HANG_S

STEPS = 30
TEXT = """
topology: copied
types: {Pair: {number: "int64[3]", real: "float32[2]"}}
buffers:
  staged:  {type: Pair, slots: 2, place: pinned}
  working: {type: Pair, slots: 2, place: device}
  result:  {type: Pair, slots: 2, place: pinned}
nodes:
  prepare:  {kind: prepare, acquires: [staged], writes: [staged]}
  copy_in:  {kind: dispatch, acquires: [working], reads: [staged], writes: [working]}
  work:     {kind: dispatch, reads: [working], writes: [working]}
  copy_out: {kind: dispatch, acquires: [result], reads: [working], writes: [result]}
  reclaim:  {kind: reclaim, reads: [result], emits: results}
  free:     {kind: release, releases: [staged]}
  release:  {kind: release, releases: [working, result]}
edges:
  prepare -> copy_in:  {carries: [staged]}
  copy_in -> work:     {carries: [working]}
  copy_in -> free:     {carries: [staged]}
  work -> copy_out:    {carries: [working]}
  copy_out -> release: {carries: [working]}
  copy_out -> reclaim: {carries: [result]}
  reclaim -> release:  {carries: [result]}
lanes:
  host: [prepare]
  copy_in: {nodes: [copy_in], worker: stream}
  device: {nodes: [work], worker: stream}
  copy_out: {nodes: [copy_out], worker: stream}
  output: [free, reclaim, release]
"""
WORKERS = {
    "streams": (),
    "a thread copies in": ("lanes.copy_in.worker=thread",),
    "a thread works": ("lanes.device.worker=thread",),
    "threads": tuple(f"lanes.{lane}.worker=thread" for lane in ("copy_in", "device", "copy_out")),
}


class Fill(PrepareNode):
    def run(self, step: Any, slots: Any) -> None:
        slots.staged.number.fill_(step.command)
        slots.staged.real.fill_(step.command / 4)


class Add(DispatchNode):
    def start(self, context: Any) -> None:
        self.stream = context.stream

    def run(self, step: Any, slots: Any) -> None:
        work = partial(slots.working.number.add_, 1000)
        if self.stream is None:
            work()
        else:
            self.stream.enqueue(work)


class Read(ReclaimNode):
    def run(self, step: Any, slots: Any) -> tuple[list[int], list[float]]:
        return slots.result.number.tolist(), slots.result.real.tolist()


def copied(*overrides: str) -> Topology:
    return load_text(TEXT, overrides=overrides)


def executor(record: str = "Pair") -> Executor:
    nodes = {
        "prepare": Fill(),
        "copy_in": CopyNode("staged", "working", record),
        "work": Add(),
        "copy_out": CopyNode("working", "result", record),
        "reclaim": Read(),
        "free": ReleaseNode(),
        "release": ReleaseNode(),
    }
    return Executor(nodes)


def expected(step: int) -> tuple[list[int], list[float]]:
    return [step + 1000] * 3, [step / 4] * 2


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("workers", WORKERS)
def test_every_field_arrives_in_its_step(workers: str, checked: bool) -> None:
    late = misbehaving({call: Late(0.002) for call in range(0, STEPS, 5)})
    source = copied(*WORKERS[workers])
    with Runtime(compile(source), executor(), checked=checked, make_queue=late) as run:
        assert list(run.map(range(STEPS))) == [expected(step) for step in range(STEPS)]
    assert run.held_slots() == []


class LongAfter(CopyNode):
    """Its queue is busy first, so that the copy begins long after it was launched."""

    def start(self, context: Any) -> None:
        super().start(context)
        self.stream = context.stream

    def run(self, step: Any, slots: Any) -> None:
        self.stream.busy(0.01)
        super().run(step, slots)


@pytest.mark.usefixtures("nothing_left")
def test_a_staging_slot_is_not_written_before_its_copy_is_through() -> None:
    """Given back at its launch, the one slot would have the next step's numbers by then."""
    late = {**executor().nodes, "copy_in": LongAfter("staged", "working", "Pair")}
    with Runtime(compile(copied("buffers.staged.slots=1")), Executor(late)) as run:
        assert list(run.map(range(10))) == [expected(step) for step in range(10)]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("lane", ["copy_in", "copy_out"])
def test_a_copy_that_fails_fails_its_step_alone(lane: str) -> None:
    faults = misbehaving({1: FailsAtCompletion(ValueError("bad copy"))}, lane=lane)
    with Runtime(compile(copied()), executor(), checked=True, make_queue=faults) as run:
        tickets = [run.submit(step) for step in range(4)]
        error = tickets[1].exception(timeout=HANG_S)
        assert isinstance(error, StepError)
        assert error.node == lane
        assert [tickets[step].result(timeout=HANG_S) for step in (0, 2, 3)] == list(map(expected, (0, 2, 3)))


@pytest.mark.usefixtures("nothing_left")
def test_both_ends_of_a_copy_that_is_not_proved_complete_stay_out_of_use() -> None:
    faults = misbehaving({1: Never()}, lane="copy_in")
    with Runtime(compile(copied()), executor(), make_queue=faults, completion_timeout=0.2) as run:
        tickets = [run.submit(step) for step in range(4)]
        failed = [ticket.exception(timeout=HANG_S) is not None for ticket in tickets]
        assert failed == [False, True, False, False]
    assert sorted(run.quarantined) == [("staged", 1, 1), ("working", 1, 1)]


def test_a_copy_between_other_types_is_refused() -> None:
    with pytest.raises(BindError, match="does not fit"):
        Runtime(compile(copied()), executor("Other"))
