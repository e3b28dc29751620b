"""A run with stream lanes can be ended at any moment: every ticket resolves, no thread is left."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import Future
from typing import Any

import pytest

from graph import (
    BindError,
    InternalError,
    LifecycleError,
    QueueFull,
    RuntimeStopped,
    StepError,
    Stuck,
    Unfinished,
)
from graph.lanes.cpu_queue import CpuMark, CpuQueue
from graph.launching import Launching
from nodes.misbehaving import Late, misbehaving
from tests.fakes import HANG_S, Gate, delayed, lanes_alive, until
from tests.graph.lanes.streaming import streamed
from tests.graph.lanes.test_stream_order import held

pytestmark = pytest.mark.usefixtures("nothing_left")


class Boom(Exception):
    pass


def resolved(ticket: Future[Any], step: int) -> bool:
    """Whether the outcome is one that a run which was stopped may give."""
    error = ticket.exception(timeout=0)
    return isinstance(error, RuntimeStopped) if error is not None else ticket.result() == step


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("lanes", [["device"], None], ids=["device", "all"])
def test_stop_at_any_moment(lanes: list[str] | None) -> None:
    seed = 77
    print("seed", seed)
    source = random.Random(seed)
    for number in range(40):
        probes = streamed("pingpong", lanes, delayed(seed + number, 0.002))
        faults = {call: Late(0.003) for call in range(0, 30, 3)} if number % 2 else {}
        with probes.run(
            make_queue=misbehaving(faults), switch_interval_ms=None, checked=number % 3 > 0
        ) as run:
            cancel = source.random() < 0.5
            stopper = threading.Timer(source.random() * 0.01, run.stop, kwargs={"cancel": cancel})
            stopper.start()
            tickets = []
            with pytest.raises(RuntimeStopped):
                while True:
                    tickets.append(run.submit(len(tickets)))
            stopper.join(HANG_S)
            assert all(resolved(ticket, step) for step, ticket in enumerate(tickets))
            if not cancel:
                assert [ticket.result(timeout=0) for ticket in tickets] == list(range(len(tickets)))
        assert lanes_alive() == []


def test_leaving_the_block_drains_what_is_on_the_queue() -> None:
    with streamed("deep", ["device"], lambda node, index, tensors: time.sleep(0.005)).run() as run:
        tickets = [run.submit(index) for index in range(run.capacity)]
    assert [ticket.result(timeout=0) for ticket in tickets] == list(range(run.capacity))


def test_an_exception_cancels_what_has_not_started_and_drains_the_rest() -> None:
    gate, tickets = Gate(), list[Future[Any]]()
    probes = streamed("pingpong", ["device"], held(gate, "dispatch"))
    with pytest.raises(Boom), probes.run(queue=5) as run:
        tickets.extend(run.submit(index) for index in range(6))
        gate.wait()
        threading.Timer(0.05, gate.open).start()
        raise Boom
    assert tickets[0].result(timeout=0) == 0
    assert all(resolved(ticket, step) for step, ticket in enumerate(tickets))


def test_work_that_does_not_end_is_a_stuck_run() -> None:
    gate = Gate()
    probes = streamed("pingpong", ["device"], held(gate, "dispatch", 1))
    with pytest.raises(Stuck, match="`dispatch` of step 1 is at work"), probes.run(drain_timeout=0.2) as run:
        tickets = [run.submit(index) for index in range(3)]
        gate.wait()
        threading.Timer(0.5, gate.open).start()
    assert tickets[0].result(timeout=0) == 0
    assert all(resolved(ticket, step) for step, ticket in enumerate(tickets))


def test_the_wait_graph_says_which_call_the_queue_is_at() -> None:
    gate = Gate()
    with streamed("pingpong", ["device"], held(gate, "dispatch")).run() as run:
        tickets = [run.submit(index) for index in range(2)]
        gate.wait()
        until(
            lambda: "lane device: `dispatch` of step 0 is at work" in run.wait_graph(), "the queue is at it"
        )
        gate.open()
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == [0, 1]


def test_a_queue_that_cannot_be_made_keeps_the_run_from_starting() -> None:
    def make(lane: str, device: str) -> Any:
        raise OSError("no such device")

    with (
        pytest.raises(BindError, match=r"lane `device` gets no queue on `cpu`.*no such device"),
        streamed("pingpong", ["device"]).run(make_queue=make),
    ):
        pytest.fail("it must not start")


def test_a_device_without_queues_is_refused_with_the_mend() -> None:
    with pytest.raises(BindError, match="give the run `make_queue`"):
        streamed("pingpong", ["device"]).run(device="meta")


@pytest.mark.parametrize("at", ["dispatch", "prepare"])
def test_a_node_that_does_not_start_keeps_the_run_from_starting(at: str) -> None:
    probes = streamed("pingpong", ["device"])

    def start(context: Any) -> None:
        raise Boom

    probes.executor.nodes[at].start = start  # type: ignore[method-assign]
    with pytest.raises(LifecycleError), probes.run():
        pytest.fail("it must not start")


def test_start_and_stop_are_called_on_the_lane_and_the_queue_is_in_the_context() -> None:
    probes = streamed("pingpong", ["device"])
    with probes.run() as run:
        run.submit(0).result(timeout=HANG_S)
        threads = {thread.name: thread.ident for thread in threading.enumerate()}
    on_stream, on_thread = probes.executor.nodes["dispatch"], probes.executor.nodes["prepare"]
    assert on_stream.threads == [threads["laneflow-device"]] * 2  # type: ignore[attr-defined]
    assert on_stream.context.stream is not None  # type: ignore[attr-defined]
    assert on_thread.context.stream is None  # type: ignore[attr-defined]


def test_submit_and_stop_from_a_ticket_of_a_stream_lane_do_not_wait_for_themselves() -> None:
    raised: list[str] = []

    def again(ticket: Future[Any]) -> None:
        try:
            run.stop()
        except RuntimeError as error:
            raised.append(str(error))

    with streamed("pingpong").run() as run:
        run.submit(0).add_done_callback(again)
    assert ["on a lane" in text for text in raised] == [True]


def test_a_fault_of_our_own_on_the_completion_thread_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def settle(self: Any, call: Any, error: Any) -> None:
        raise AssertionError("our bug")

    monkeypatch.setattr(Launching, "settle", settle)
    with pytest.raises(InternalError), streamed("pingpong", ["device"]).run() as run:
        with pytest.raises(InternalError):
            run.submit(0).result(timeout=HANG_S)
        raise Boom


@pytest.mark.parametrize("value", [0, -1.0])
def test_a_time_out_of_no_time_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="completion_timeout"):
        streamed("pingpong", ["device"]).run(completion_timeout=value)


def test_a_failing_step_can_be_followed_by_a_stop() -> None:
    def behave(node: str, index: Any, tensors: Any) -> None:
        if node == "dispatch":
            raise Boom

    with streamed("pingpong", ["device"], behave).run() as run:
        tickets = [run.submit(index) for index in range(3)]
    assert all(isinstance(ticket.exception(timeout=0), StepError) for ticket in tickets)


class Awkward(CpuQueue):
    """A queue whose `close` raises, once it has closed."""

    def close(self) -> bool:
        super().close()
        raise Boom("not closed")


def test_a_queue_that_does_not_close_is_told_and_the_nodes_are_stopped() -> None:
    """The lane's thread used to die of it, with its nodes not stopped, and the run looked sound."""
    probes = streamed("pingpong", ["device"])
    stopped: list[str] = []
    probes.executor.nodes["dispatch"].stop = lambda: stopped.append("dispatch")  # type: ignore[method-assign]
    run = probes.run(make_queue=Awkward)
    with pytest.raises(LifecycleError, match=r"`device` failed to close: Boom\('not closed'\)"), run:
        assert run.submit(0).result(timeout=HANG_S) == 0
    assert stopped == ["dispatch"]


def test_a_maker_of_queues_that_returns_none_keeps_the_run_from_starting() -> None:
    run = streamed("pingpong", ["device"]).run(make_queue=lambda lane, device: None)
    with pytest.raises(BindError, match=r"lane `device` gets no queue.*returned None"), run:
        pass


class Untimed(CpuMark):
    def interval(self) -> Any:
        raise Boom("no clock")


class Clockless(CpuQueue):
    def mark(self) -> CpuMark:
        mark = Untimed()
        self._items.put(mark)
        return mark


def test_a_mark_that_cannot_tell_its_time_fails_its_step() -> None:
    """It used to be taken for a fault of laneflow's own, and ended the run."""
    with streamed("pingpong", ["device"]).run(make_queue=Clockless) as run:
        errors = [run.submit(index).exception(timeout=HANG_S) for index in range(3)]
    assert [type(error.cause) for error in errors if isinstance(error, StepError)] == [Boom] * 3


def test_a_call_that_outlives_the_run_is_told(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    probes = streamed("pingpong", ["device"], held(gate, "dispatch"))
    with probes.run(completion_timeout=0.1) as run:
        assert isinstance(run.submit(0).exception(timeout=HANG_S), StepError)
    assert "lane `device`: a call has not ended with the run" in caplog.text
    gate.open()
    until(lambda: lanes_alive() == [], "the queue's thread ends after the call")


class Forgetful(CpuQueue):
    def mark(self) -> Any:
        super().mark()


def test_a_queue_without_marks_proves_nothing() -> None:
    """None used to stand for a call that is complete, and results were read before they were written."""
    with streamed("pingpong", ["device"]).run(make_queue=Forgetful) as run:
        error = run.submit(0).exception(timeout=HANG_S)
    assert isinstance(error, StepError)
    assert isinstance(error.cause, Unfinished)
    assert "`mark` returned None" in str(error)


@pytest.mark.parametrize("act", ["stop", "submit"])
def test_work_on_a_queue_does_not_wait_for_its_own_run(act: str) -> None:
    """It used to, for ever: a queue's thread is no lane."""
    told: list[BaseException] = []

    def behave(node: str, index: Any, tensors: Any) -> None:
        if (node, index) == ("dispatch", 0):
            try:
                if act == "stop":
                    run.stop()
                else:
                    while True:
                        run.submit("more")
            except (QueueFull, RuntimeError) as error:
                told.append(error)

    probes = streamed("pingpong", ["device"], behave)
    with probes.run() as run:
        assert run.submit(0).result(timeout=HANG_S) == 0
    assert [type(error) for error in told] == [RuntimeError if act == "stop" else QueueFull]
