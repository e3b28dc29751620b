"""Ctrl-C, wherever it comes in a run with a stream lane: a step is wholly in or out, and nothing waits for the device.

What is on the queue by then is not waited for beyond the queue's own bound; its steps end as `RuntimeStopped`.
"""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import signal
import threading
from concurrent.futures import Future
from typing import Any

import pytest

from graph import Runtime, RuntimeStopped
from nodes.misbehaving import Fault, Late, Never, misbehaving
from tests.fakes import HANG_S, Gate, lanes_alive, until
from tests.graph.interrupts import after_ctrl_c, interrupting, submits_interrupted
from tests.graph.lanes.streaming import Streamed, streamed
from tests.graph.lanes.test_stream_order import held
from tests.graph.lanes.test_stream_stop import resolved

pytestmark = pytest.mark.usefixtures("nothing_left")


def pingpong(lanes: list[str] | None, **options: Any) -> Runtime:
    return streamed("pingpong", lanes).run(**options)


@pytest.mark.parametrize("lanes", [["device"], None], ids=["device", "all"])
def test_an_interrupt_anywhere_in_submit_leaves_the_step_wholly_in_or_wholly_out(
    lanes: list[str] | None,
) -> None:
    with pingpong(lanes, checked=True) as run:
        assert submits_interrupted(run) > 10


@pytest.mark.slow
@pytest.mark.parametrize("cancel", [False, True])
def test_an_interrupt_anywhere_in_stop_ends_the_run_all_the_same(cancel: bool) -> None:
    line, interrupted = 0, True
    while interrupted:
        line += 1
        run = pingpong(["device"])
        run.__enter__()
        tickets = [run.submit(index) for index in range(3)]
        interrupted = interrupting(lambda run=run: run._stop(cancel), line)  # type: ignore[misc]
        assert all(ticket.done() for ticket in tickets)
        assert lanes_alive() == []
        assert run.held_slots() == [] or run._shared.halted
    assert line > 10


@pytest.mark.slow
def test_an_interrupt_anywhere_in_the_start_leaves_neither_lane_nor_queue() -> None:
    line, interrupted = 0, True
    while interrupted:
        line += 1
        run = pingpong(["device", "output"])
        interrupted = interrupting(lambda run=run: _enter_and_leave(run), line)  # type: ignore[misc]
        assert lanes_alive() == []
    assert line > 10


def _enter_and_leave(run: Runtime) -> None:
    with run:
        pass


def drain_interrupted(probes: Streamed, gate: Gate | None = None, **options: Any) -> list[Future[Any]]:
    """The tickets of a run that is interrupted while it drains, with the call of step 1 on the queue.

    A gate, where that call stands, is opened once the lane has begun to close its queue.
    """
    tickets, main = list[Future[Any]](), threading.get_ident()

    def interrupt() -> None:
        until(lambda: run._admission.closed and tickets[0].done(), "the run drains")
        until(lambda: ("dispatch", 1) in probes.launches, "the call is on the queue")
        if gate is not None:
            gate.wait()
        signal.pthread_kill(main, signal.SIGINT)
        queue: Any = run._parts.streams["device"].queue
        until(queue._closed.is_set, "the lane ends without the call")
        if gate is not None:
            gate.open()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupter = threading.Thread(target=interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), probes.run(**options) as run:
            tickets.extend(run.submit(index) for index in range(4))
            interrupter.start()
        assert run._shared.halted
    finally:
        interrupter.join(HANG_S)
        signal.signal(signal.SIGINT, before)
    return tickets


def test_an_interrupt_while_draining_ends_the_lanes_after_the_call_that_is_under_way() -> None:
    gate = Gate()
    probes = streamed("pingpong", ["device"], held(gate, "dispatch", 1))
    tickets = drain_interrupted(probes, gate, queue=3)
    assert tickets[0].result(timeout=0) == 0
    assert all(isinstance(ticket.exception(timeout=0), RuntimeStopped) for ticket in tickets[1:])
    until(lambda: lanes_alive() == [], "the queue's thread ends after the call")
    assert ("dispatch", 1) in probes.calls("end")
    assert ("dispatch", 2) not in probes.calls("start")


@pytest.mark.parametrize("fault", [Never(), Late(3600)], ids=["never", "in an hour"])
def test_an_interrupt_while_draining_does_not_wait_for_a_device_that_is_silent(fault: Fault) -> None:
    probes = streamed("pingpong", ["device"])
    tickets = drain_interrupted(probes, queue=3, make_queue=misbehaving({1: fault}))
    assert tickets[0].result(timeout=0) == 0
    assert all(isinstance(ticket.exception(timeout=0), RuntimeStopped) for ticket in tickets[1:])


def test_an_interrupt_while_a_result_is_awaited_cancels_what_has_not_started_and_drains_the_rest() -> None:
    gate, tickets = Gate(), list[Future[Any]]()
    probes = streamed("pingpong", ["device"], held(gate, "dispatch"))
    with pytest.raises(KeyboardInterrupt), probes.run(queue=5) as run:
        tickets.extend(run.submit(index) for index in range(6))
        gate.wait()
        threading.Timer(0.05, gate.open).start()
        raise KeyboardInterrupt
    assert tickets[0].result(timeout=0) == 0
    assert isinstance(tickets[-1].exception(timeout=0), RuntimeStopped)
    assert all(resolved(ticket, step) for step, ticket in enumerate(tickets))


SCRIPT = """
    from graph import Runtime, compile, load
    from nodes.simulated import simulated

    topology = load(sys.argv[1], ["lanes.device.worker=stream"])
    executor = simulated(topology, {{"dispatch": {dispatch_ms}}}, holds_lock=False)
    tickets = []
    try:
        with Runtime(compile(topology), executor, queue=20) as run:
            tickets = [run.submit(index) for index in range(20)]
            print("ready", flush=True)
            tickets[-1].result()
            raise SystemExit("the interrupt never came")
    except KeyboardInterrupt:
        tell(tickets)
"""


@pytest.mark.parametrize(("name", "dispatch_ms", "signals"), [("pingpong", 100, 1), ("deep", 60_000, 2)])
def test_ctrl_c_ends_a_run_promptly_with_every_ticket_resolved(
    name: str, dispatch_ms: int, signals: int
) -> None:
    """With steps of a minute the first Ctrl-C drains, which takes too long, and the second ends it."""
    out, err = after_ctrl_c(SCRIPT.format(dispatch_ms=dispatch_ms), name, signals)
    assert out == "lanes [] done 20 finished True\n", err
