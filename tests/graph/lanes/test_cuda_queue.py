"""The CUDA queue against a fake of the device: order, its clock, loss, its end, and that it creates little."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from graph import Context, Executor, Runtime, Step, StepError, Unfinished, compile, load
from graph.errors import DeviceLost
from graph.lanes import cuda_queue
from graph.lanes.cuda_clock import SLEW
from graph.lanes.cuda_queue import CLOSE_S, CudaMark, CudaQueue
from graph.lanes.queue import Interval, Queue
from nodes import DispatchNode
from nodes.simulated import simulated
from tests.fakes import HANG_S
from tests.graph.lanes.fake_cuda import LOST, FakeCuda, SimulatedTime, WallTime

MS = 1_000_000


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    yield FakeCuda(SimulatedTime()).install(monkeypatch)
    cuda_queue.cycles_per_second.cache_clear()


@pytest.fixture
def queue(cuda: FakeCuda) -> CudaQueue:
    return CudaQueue("device", "cuda")


def call(cuda: FakeCuda, queue: CudaQueue, milliseconds: float) -> CudaMark:
    with queue.launching():
        cuda.launch(milliseconds)
    return queue.mark()


def settled(mark: CudaMark) -> Interval:
    assert mark.wait(HANG_S)
    found = mark.interval()
    assert found is not None
    return found


def test_what_is_launched_inside_is_on_the_queues_own_stream(cuda: FakeCuda, queue: CudaQueue) -> None:
    found = []
    with queue.launching():
        found.append(cuda.current)
    queue.enqueue(lambda: found.append(cuda.current))
    other = CudaQueue("other", "cuda")
    other.enqueue(lambda: found.append(cuda.current))
    assert found[0] is found[1]
    assert len({*map(id, found), id(cuda.default)}) == 3
    assert cuda.current is cuda.default


def test_a_mark_is_reached_when_the_work_before_it_is_done_and_marks_in_order(
    cuda: FakeCuda, queue: CudaQueue
) -> None:
    first, second = call(cuda, queue, 10), call(cuda, queue, 10)
    assert (first.wait(0.005), second.wait(0.001)) == (False, False)
    assert first.wait(0.005)
    assert not second.wait(0)
    assert second.wait(0.011)
    assert first.wait(0)


def test_a_launch_does_not_wait_for_the_device(cuda: FakeCuda, queue: CudaQueue) -> None:
    call(cuda, queue, 1)
    before = cuda.time.now()
    for _ in range(10):
        call(cuda, queue, 1000)
    assert cuda.time.now() == before


def test_what_was_done_at_start_on_the_default_stream_is_over_before_the_first_launch(
    cuda: FakeCuda, queue: CudaQueue
) -> None:
    queue.enqueue(lambda: None)
    queue.mark()  # as a run does before its nodes start
    cuda.launch(30)
    began, _ = settled(call(cuda, queue, 1))
    assert began >= cuda.default.free


def test_calls_launched_ahead_follow_each_other_without_a_gap(cuda: FakeCuda, queue: CudaQueue) -> None:
    marks = [call(cuda, queue, 10) for _ in range(4)]
    intervals = [settled(mark) for mark in marks]
    assert [end - began for began, end in intervals] == pytest.approx([10 * MS] * 4, rel=1.1 * SLEW)
    assert [later[0] - earlier[1] for earlier, later in pairwise(intervals)] == [0] * 3


def test_the_time_between_a_mark_and_a_late_launch_is_a_gap(cuda: FakeCuda, queue: CudaQueue) -> None:
    first = settled(call(cuda, queue, 10))
    cuda.time.sleep(0.007)
    second = settled(call(cuda, queue, 10))
    assert second[0] - first[1] >= 7 * MS
    assert second[1] - second[0] == pytest.approx(10 * MS, abs=10)


def test_a_mark_without_a_launch_reckons_from_the_mark_before(cuda: FakeCuda, queue: CudaQueue) -> None:
    early = queue.mark()
    assert (early.wait(0), early.interval()) == (True, None)
    first = settled(call(cuda, queue, 10))
    queue.enqueue(lambda: cuda.launch(3))
    second = settled(queue.mark())
    assert second[0] == first[1]
    assert second[1] - second[0] >= 3 * MS


@pytest.mark.parametrize("rate", [1 - 5e-5, 1.0, 1 + 5e-5], ids=["slow", "exact", "fast"])
@pytest.mark.parametrize("ahead", [True, False], ids=["ahead", "after"])
def test_the_clock_does_not_drift_over_a_run(
    monkeypatch: pytest.MonkeyPatch, rate: float, ahead: bool
) -> None:
    """A minute, in which clocks that differ by 50 ppm come to be 3 ms apart."""
    seed = 11
    print("seed", seed)
    source, cuda = random.Random(seed), FakeCuda(SimulatedTime(), rate).install(monkeypatch)
    queue = CudaQueue("device", "cuda")
    found: list[Interval] = []
    waiting: list[CudaMark] = []
    true_ends, furthest = [], 0
    for _ in range(1_500):
        waiting.append(call(cuda, queue, 45))
        true_ends.append(cuda_end(waiting[-1]))
        if len(waiting) > ahead:
            found.append(settled(waiting.pop(0)))
            furthest = max(furthest, abs(found[-1][1] - true_ends[len(found) - 1]))
        cuda.time.sleep(source.random() * 0.001)
    assert furthest < 0.5 * MS
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(found)]
    assert min(gaps) >= 0
    if ahead:
        assert max(gaps) <= 10
    assert [end - began for began, end in found] == pytest.approx([45 * MS] * len(found), rel=5e-4)


def cuda_end(mark: CudaMark) -> int:
    """When the mark is reached in truth."""
    at: Any = mark._end
    return int(at.at)


@pytest.mark.parametrize("rate", [1 - 5e-5, 1.0, 1 + 5e-5], ids=["slow", "exact", "fast"])
def test_after_an_hour_without_work_a_call_is_where_the_host_knows_it_to_be(
    monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    cuda = FakeCuda(SimulatedTime(), rate).install(monkeypatch)
    queue = CudaQueue("device", "cuda")
    settled(call(cuda, queue, 1))
    cuda.time.sleep(3600)
    launched = cuda.time.now()
    began, ended = settled(call(cuda, queue, 1))
    assert launched <= began < ended <= cuda.time.now()
    assert ended - began == pytest.approx(MS, rel=0.01)


def test_the_steady_loop_makes_no_event(cuda: FakeCuda, queue: CudaQueue) -> None:
    def loop(steps: int) -> None:
        waiting: list[CudaMark] = []
        for _ in range(steps):
            waiting.append(call(cuda, queue, 1))
            if len(waiting) > 2:
                settled(waiting.pop(0))
        while waiting:
            settled(waiting.pop(0))

    loop(5)
    made = cuda.events
    loop(500)
    assert (made, cuda.events) == (7, 7)  # two for each of three calls, and the one to reckon from


def test_a_mark_that_is_given_up_keeps_its_events_and_the_clock_goes_on(
    cuda: FakeCuda, queue: CudaQueue
) -> None:
    first = settled(call(cuda, queue, 1))
    given_up, behind = call(cuda, queue, 50), call(cuda, queue, 2)
    assert not given_up.wait(0.01)
    began, ended = settled(behind)
    assert began - first[1] == pytest.approx(50 * MS, abs=0.3 * MS)
    assert ended - began == pytest.approx(2 * MS, abs=10)
    spare: Any = queue._spare
    assert given_up._end not in spare
    assert given_up._begin not in spare


def test_busy_is_by_the_devices_own_clock_rate_which_is_measured_once(
    cuda: FakeCuda, queue: CudaQueue
) -> None:
    intervals = []
    for _ in range(3):
        with queue.launching():
            queue.busy(0.045)
        intervals.append(settled(queue.mark()))
    work = [end - began for began, end in intervals[1:]]  # the first has the measuring in it
    assert work == pytest.approx([45 * MS] * 2, rel=1e-6)
    assert len(cuda.sleeps) == 2 + 3


def test_a_failure_at_a_mark_is_a_lost_context(cuda: FakeCuda, queue: CudaQueue) -> None:
    mark = call(cuda, queue, 10)
    cuda.lost_at = cuda.time.now() + 5 * MS
    with pytest.raises(DeviceLost, match="illegal memory access"):
        mark.wait(HANG_S)
    with pytest.raises(DeviceLost):
        queue.mark()
    with pytest.raises(DeviceLost), queue.launching():
        pytest.fail("nothing can be launched")


def test_a_context_that_is_lost_behind_a_mark_is_told_at_the_next(cuda: FakeCuda, queue: CudaQueue) -> None:
    """What had completed is not spoilt by work behind it: it only has no interval."""
    first, second = call(cuda, queue, 1), call(cuda, queue, 1)
    assert first.wait(HANG_S)
    cuda.lost_at = cuda.time.now()
    assert first.interval() is None
    with pytest.raises(DeviceLost):
        second.wait(HANG_S)


def test_what_a_node_raises_is_no_lost_context(cuda: FakeCuda, queue: CudaQueue) -> None:
    with pytest.raises(RuntimeError, match="the node's own") as caught, queue.launching():
        raise RuntimeError("the node's own")
    assert not isinstance(caught.value, DeviceLost)
    assert settled(queue.mark())


def test_closing_waits_for_what_has_begun_and_a_bounded_time(cuda: FakeCuda, queue: CudaQueue) -> None:
    call(cuda, queue, 100)
    queue.close()
    assert queue._stream.query()
    call(cuda, queue, 3_600_000)
    before = cuda.time.now()
    queue.close()
    assert cuda.time.now() - before == pytest.approx(CLOSE_S * 1e9, rel=0.01)


def test_closing_a_lost_context_returns(cuda: FakeCuda, queue: CudaQueue) -> None:
    call(cuda, queue, 100)
    cuda.lost_at = cuda.time.now()
    queue.close()


# -- runs ----------------------------------------------------------------------------------------------------


class Kernels(DispatchNode):
    """Launches one kernel a step; `act`, called with the step's number, goes before it."""

    def __init__(self, cuda: FakeCuda, milliseconds: float, act: Any = None) -> None:
        self.cuda, self.milliseconds, self.act = cuda, milliseconds, act
        self.queue: Queue | None = None

    def start(self, context: Context) -> None:
        self.queue = context.stream

    def run(self, step: Step, slots: Any) -> int:
        if self.act is not None:
            self.act(step.index)
        self.cuda.launch(self.milliseconds)
        return step.index


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """With the real clock."""
    return FakeCuda(WallTime()).install(monkeypatch)


def running(cuda: FakeCuda, milliseconds: float, act: Any = None, **options: Any) -> Runtime:
    source = load("pingpong", ["lanes.device.worker=stream", "costs.prepare=0", "costs.reclaim=0"])
    executor = simulated(source)
    nodes = {**executor.nodes, "dispatch": Kernels(cuda, milliseconds, act)}
    parts = Executor(nodes, executor.capabilities, executor.resources)
    return Runtime(compile(source), parts, make_queue=CudaQueue, **options)


@pytest.mark.usefixtures("hectic")
def test_a_run_has_its_results_in_order_and_spans_by_the_devices_clock(live: FakeCuda) -> None:
    with running(live, 1, switch_interval_ms=None) as run:
        assert list(run.map(range(60))) == list(range(60))
    spans = [span for span in run.spans() if span.node == "dispatch"]
    assert [span.step for span in spans] == list(range(60))
    assert all(one.end <= other.start for one, other in pairwise(spans))
    assert live.events < 20


@pytest.mark.usefixtures("nothing_left")
def test_a_lost_context_ends_the_run_with_the_steps_in_order(live: FakeCuda) -> None:
    def act(index: int) -> None:
        if index == 5:
            live.lost_at = live.time.now()

    with pytest.raises(DeviceLost, match=LOST), running(live, 1, act, queue=10) as run:
        tickets = [run.submit(index) for index in range(8)]
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    kinds = [type(error).__name__ for error in found]
    assert kinds == sorted(kinds, key=["NoneType", "StepError", "RuntimeStopped"].index)
    assert kinds.count("NoneType") <= 5
    failure = found[5]
    assert isinstance(failure, StepError)
    assert isinstance(failure.cause, DeviceLost)


@pytest.mark.usefixtures("nothing_left")
def test_a_kernel_that_does_not_end_in_time_is_unfinished_and_its_slots_are_kept_out_of_use(
    live: FakeCuda,
) -> None:
    def act(index: int) -> None:
        if index == 2:
            live.launch(400)

    with running(live, 1, act, completion_timeout=0.1) as run:
        tickets = [run.submit(index) for index in range(3)]
        found = [ticket.exception(timeout=HANG_S) for ticket in tickets]
    assert found[:2] == [None, None]
    assert isinstance(found[2], StepError)
    assert isinstance(found[2].cause, Unfinished)
    assert {(name, slot) for name, slot, _ in run.quarantined} >= {("inputs", 0), ("outputs", 0)}
