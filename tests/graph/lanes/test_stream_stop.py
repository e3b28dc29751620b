"""A run with stream lanes can be ended at any moment: every ticket resolves, no thread is left."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import Future
from typing import Any

import pytest

from graph import BindError, InternalError, LifecycleError, RuntimeStopped, StepError, Stuck
from graph.launching import Launching
from nodes.misbehaving import Late, misbehaving
from tests.fakes import HANG_S, Gate, delayed, lanes_alive
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
        assert "lane device: `dispatch` of step 0 is at work" in run.wait_graph()
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
