"""Every way to end a run: no ticket stays unresolved, no lane is left."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from typing import Any

import pytest

from graph import (
    InternalError,
    LifecycleError,
    QueueFull,
    Runtime,
    RuntimeStopped,
    StepError,
    Stuck,
    compile,
    load,
)
from graph.firing import Firing
from graph.lanes import thread as lane_thread
from graph.lanes.thread import Shared
from graph.stepping import Outbox, StepRecord
from tests.fakes import HANG_S, Gate, Probed, gated, lanes_alive, probed, until

pytestmark = pytest.mark.usefixtures("nothing_left")


class Boom(Exception):
    pass


def test_leaving_the_block_drains() -> None:
    with probed("deep").run() as run:
        tickets = [run.submit(index) for index in range(run.capacity)]
    assert [ticket.result(timeout=0) for ticket in tickets] == list(range(run.capacity))


def test_an_exception_cancels_what_has_not_started_and_drains_the_rest() -> None:
    gate = Gate()
    tickets: list[Future[Any]] = []
    probes = probed("pingpong", gated("prepare", 1, gate))

    def body() -> None:
        with probes.run(queue=5) as run:
            tickets.extend(run.submit(index) for index in range(6))
            gate.wait()
            threading.Timer(0.05, gate.open).start()
            raise Boom

    with pytest.raises(Boom):
        body()
    assert [ticket.result(timeout=0) for ticket in tickets[:2]] == [0, 1]
    assert all(isinstance(ticket.exception(timeout=0), RuntimeStopped) for ticket in tickets[2:])
    assert {step for node, step in probes.calls() if node != "release"} == {0, 1}


def test_stop_from_another_thread_while_one_submits() -> None:
    tickets: list[Future[Any]] = []
    with probed("overlap").run() as run:
        stopper = threading.Timer(0.02, run.stop)
        stopper.start()
        with pytest.raises(RuntimeStopped):
            while True:
                tickets.append(run.submit(len(tickets)))
        stopper.join(HANG_S)
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == list(range(len(tickets)))


def test_a_blocked_submit_ends_when_the_run_is_stopped() -> None:
    gate, raised = Gate(), list[BaseException]()
    with probed("sync", gated("dispatch", 0, gate)).run() as run:
        for index in range(run.capacity):
            run.submit(index)

        def submitter() -> None:
            try:
                run.submit("one too many")
            except RuntimeStopped as error:
                raised.append(error)

        blocked = threading.Thread(target=submitter)
        blocked.start()
        until(lambda: run._admission._blocked == 1, "the submitter is blocked")
        stopper = threading.Thread(target=run.stop)
        stopper.start()
        blocked.join(HANG_S)
        gate.open()
        stopper.join(HANG_S)
    assert len(raised) == 1


def test_several_threads_may_stop_at_once() -> None:
    with probed("pingpong").run() as run:
        ticket = run.submit(0)
        stoppers = [threading.Thread(target=run.stop) for _ in range(4)]
        for stopper in stoppers:
            stopper.start()
        for stopper in stoppers:
            stopper.join(HANG_S)
        assert ticket.result(timeout=0) == 0


def test_stop_on_a_lane_is_refused() -> None:
    with probed(
        "pingpong", lambda node, step, slots: run.stop() if node == "dispatch" else None
    ).run() as run:
        error = run.submit(0).exception(timeout=HANG_S)
        assert isinstance(error, StepError)
        assert "on a lane" in str(error.cause)
        assert run.submit(1).exception(timeout=HANG_S) is not None


def test_submit_before_and_after_a_run() -> None:
    run = probed("pingpong").run()
    with pytest.raises(RuntimeStopped):
        run.submit(0)
    with run:
        run.stop()
        with pytest.raises(RuntimeStopped):
            run.submit(0)
    with pytest.raises(RuntimeStopped):
        run.submit(0)
    with pytest.raises(RuntimeStopped), run:
        pass


def test_a_run_that_never_started_can_be_stopped() -> None:
    run = probed("pingpong").run()
    run.stop()
    with pytest.raises(RuntimeStopped), run:
        pass


def test_submit_without_blocking_says_when_the_queue_is_full() -> None:
    gate = Gate()
    with probed("pingpong", gated("dispatch", 0, gate)).run(queue=2) as run:
        tickets = [run.submit(index, block=False) for index in range(run.capacity)]
        with pytest.raises(QueueFull, match=str(run.capacity)):
            run.submit("one too many", block=False)
        gate.open()
        tickets[0].result(timeout=HANG_S)
        run.submit("there is room again", block=False)


def test_blocked_submitters_go_on_when_there_is_room() -> None:
    with probed("sync").run(queue=1) as run:
        found: list[Any] = []
        threads = [
            threading.Thread(
                target=lambda: found.extend(run.submit(i).result(timeout=HANG_S) for i in range(50))
            )
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_S)
    assert sorted(found) == list(range(300))


def test_a_ticket_can_be_cancelled_before_its_step_starts() -> None:
    gate = Gate()
    probes = probed("sync", gated("dispatch", 0, gate))
    with probes.run(queue=3) as run:
        tickets = [run.submit(index) for index in range(3)]
        gate.wait()
        assert tickets[1].cancel()
        assert not tickets[0].cancel()
        gate.open()
        assert tickets[2].result(timeout=HANG_S) == 2
        assert tickets[0].result(timeout=HANG_S) == 0
        with pytest.raises(CancelledError):
            tickets[1].result(timeout=HANG_S)
        assert run.held_slots() == []
    assert {node for node, step in probes.calls() if step == 1} <= {"release"}


def test_a_callback_may_submit() -> None:
    """The outbox used to hold its lock while callbacks ran, so this was a deadlock."""
    later: list[Future[Any]] = []
    done = threading.Event()
    with probed("sync").run(queue=4) as run:

        def again(ticket: Future[Any]) -> None:
            if len(later) < 20:
                later.append(run.submit("next"))
                later[-1].add_done_callback(again)
            else:
                done.set()

        for _ in range(3):
            run.submit("first").add_done_callback(again)
        assert done.wait(HANG_S)
    assert all(ticket.result(timeout=0) is not None for ticket in later)


def test_a_callback_holds_up_its_lane_but_not_the_slots_of_its_step() -> None:
    """Lanes signal before tickets resolve: a callback may even wait for what the next tenant of the slots does."""
    gate, came = Gate(), threading.Event()

    def behave(node: str, step: Any, slots: Any) -> None:
        del slots
        if (node, step.index) == ("prepare", 0):
            gate.pass_through()
        if (node, step.index) == ("prepare", 2):
            came.set()

    found: list[bool] = []
    with probed("pingpong", behave).run(queue=3) as run:
        tickets = [run.submit(index) for index in range(3)]
        tickets[0].add_done_callback(lambda _: found.append(came.wait(HANG_S)))
        gate.open()
        assert tickets[2].result(timeout=HANG_S) == 2
    assert found == [True]


def test_a_callback_that_raises_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def raising(error: BaseException) -> Any:
        def callback(ticket: Future[Any]) -> None:
            raise error

        return callback

    gate = Gate()
    with probed("pingpong", gated("prepare", 0, gate)).run() as run:
        tickets = [run.submit(index) for index in range(3)]
        tickets[0].add_done_callback(raising(SystemExit()))
        tickets[1].add_done_callback(raising(ValueError()))
        gate.open()
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == [0, 1, 2]
    assert "step 0" in caplog.text


@pytest.mark.parametrize(
    "resolve",
    [
        lambda ticket: ticket.set_result("mine"),
        lambda ticket: ticket.set_exception(ValueError("mine")),
        lambda ticket: ticket.set_running_or_notify_cancel(),
    ],
    ids=["set_result", "set_exception", "set_running_or_notify_cancel"],
)
def test_only_the_run_resolves_a_ticket(resolve: Callable[[Future[Any]], object]) -> None:
    gate = Gate()
    with probed("pingpong", gated("prepare", 0, gate)).run() as run:
        tickets = [run.submit(index) for index in range(3)]
        gate.wait()
        for ticket in tickets:
            with pytest.raises(RuntimeError, match="by its run alone"):
                resolve(ticket)
        gate.open()
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == [0, 1, 2]


def test_a_ticket_runs_from_its_steps_first_call_until_it_is_resolved() -> None:
    gate = Gate()
    with probed("sync", gated("dispatch", 0, gate)).run(queue=2) as run:
        tickets = [run.submit(index) for index in range(2)]
        gate.wait()
        assert [ticket.running() for ticket in tickets] == [True, False]
        gate.open()
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == [0, 1]
        assert not any(ticket.running() for ticket in tickets)


def test_who_waits_for_several_tickets_is_told_of_a_cancelled_one() -> None:
    gate = Gate()
    with probed("sync", gated("dispatch", 0, gate)).run(queue=3) as run:
        tickets = [run.submit(index) for index in range(3)]
        gate.wait()
        assert tickets[1].cancel()
        assert tickets[1].cancel()
        gate.open()
        done, pending = wait(tickets, timeout=HANG_S)
        assert (done, pending) == ({*tickets}, set())
        assert [ticket.cancelled() for ticket in tickets] == [False, True, False]


def test_a_cancelled_ticket_is_so_although_its_step_is_over_first() -> None:
    """The lane may be through with the step before the thread that cancels it has come to the ticket."""
    shared = Shared({}, [])
    outbox = Outbox(shared, 0, lambda: None)

    class OverAtOnce(StepRecord):
        def cancel(self, error: Exception) -> bool:
            claimed = super().cancel(error)
            self.start()
            outbox.complete(self)
            return claimed

    step = OverAtOnce(0, 0, "default", frozenset({"node"}), None, ())
    shared.records[0], shared.arrived = step, 1
    assert step.ticket.cancel()
    assert step.ticket.cancelled()
    assert wait([step.ticket], timeout=HANG_S).done == {step.ticket}


# -- stuck and dying lanes -----------------------------------------------------------------------------------


def test_a_run_that_does_not_end_is_reported_with_what_each_lane_waits_for() -> None:
    gate = Gate()
    probes = probed("pingpong", gated("dispatch", 1, gate))
    run = probes.run(drain_timeout=0.05)
    with pytest.raises(Stuck) as raised, run:
        tickets = [run.submit(index) for index in range(3)]
        gate.wait()
    assert "lane device: `dispatch` of step 1 is at work" in raised.value.waits
    assert "lane output: `reclaim` of step 1 waits for `dispatch` of step 1" in raised.value.waits
    assert tickets[0].result(timeout=0) == 0
    assert all(isinstance(ticket.exception(timeout=0), RuntimeStopped) for ticket in tickets[1:])
    with pytest.raises(RuntimeStopped):
        run.submit(3)
    gate.open()
    until(lambda: lanes_alive() == [], "the stuck lane ends once its call does")
    run.stop()


def test_the_wait_graph_can_be_asked_for_at_any_time() -> None:
    gate = Gate()
    run = probed("pingpong", gated("dispatch", 0, gate)).run()
    assert "lane host" in run.wait_graph()
    with run:
        assert "lane host" in run.wait_graph()
        run.submit(0)
        gate.wait()
        until(lambda: "waits for a command" in run.wait_graph(), "the host lane is idle")
        assert "`dispatch` of step 0 is at work" in run.wait_graph()
        assert "`reclaim` of step 0 waits for `dispatch` of step 0" in run.wait_graph()
        gate.open()
    assert run.wait_graph()


def test_the_wait_graph_names_steps_not_turns() -> None:
    """Bubbles take turns, so the two part ways."""
    gate = Gate()
    with probed("overlap", gated("dispatch", 3, gate)).run() as run:
        for index in range(3):
            run.submit(index).result(timeout=HANG_S)
        assert run.bubbles > 0
        run.submit(3)
        gate.wait()
        assert "`dispatch` of step 3 is at work" in run.wait_graph()
        gate.open()


@pytest.mark.parametrize("at", [0, 3, 20])
@pytest.mark.parametrize("name", ["pingpong", "overlap", "sync"])
def test_a_lane_that_dies_of_our_own_fault_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, name: str, at: int
) -> None:
    probes = probed(name)
    run = probes.run(queue=5)
    fire = Firing.fire

    def broken(firing: Firing, record: Any, came: int) -> None:
        if firing.node == "dispatch" and record.index == at:
            raise ZeroDivisionError("ours")
        fire(firing, record, came)

    monkeypatch.setattr(Firing, "fire", broken)
    tickets: list[Future[Any]] = []

    def body() -> None:
        with run:
            with pytest.raises(RuntimeStopped):
                while True:
                    tickets.append(run.submit(len(tickets)))
            for ticket in tickets:
                ticket.exception(timeout=HANG_S)

    with pytest.raises(InternalError) as raised:
        body()
    assert isinstance(raised.value.__cause__, ZeroDivisionError)  # not what other lanes met on their way out
    assert all(ticket.done() for ticket in tickets)
    assert isinstance(tickets[at].exception(), InternalError)
    assert [ticket.result() for ticket in tickets[: max(at - run.capacity, 0)]] == list(
        range(max(at - run.capacity, 0))
    )


def test_a_fault_in_the_lanes_loop_is_reported_from_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(lane_thread, "run", broken)
    with pytest.raises(InternalError), probed("pingpong").run() as run:
        until(lambda: lanes_alive() == [], "the lanes have died")
        with pytest.raises(RuntimeStopped):
            run.submit(0)


# -- starting and stopping nodes -----------------------------------------------------------------------------


def failing_in(probes: Probed, node: str, phase: str) -> Probed:
    def fail(*arguments: Any) -> None:
        raise Boom(phase)

    setattr(probes.executor.nodes[node], phase, fail)
    return probes


@pytest.mark.parametrize("node", ["prepare", "dispatch", "release_prefill"])
@pytest.mark.parametrize("name", ["pingpong", "sync"])
def test_a_node_that_fails_to_start(node: str, name: str) -> None:
    probes = failing_in(probed(name), node, "start")
    run = probes.run()
    with pytest.raises(LifecycleError, match=node) as raised, run:
        pytest.fail("the block must not run")
    assert raised.value.phase == "start"
    assert isinstance(raised.value.cause, Boom)
    assert lanes_alive() == []
    assert all(len(probe.threads) in (0, 2) for name, probe in probes.executor.nodes.items() if name != node)
    with pytest.raises(RuntimeStopped):
        run.submit(0)


def test_a_node_that_fails_to_stop_keeps_no_other_from_stopping() -> None:
    probes = failing_in(probed("pingpong"), "dispatch", "stop")
    with pytest.raises(LifecycleError, match="`dispatch` failed to stop"), probes.run() as run:
        ticket = run.submit(0)
    assert ticket.result(timeout=0) == 0
    assert all(len(probe.threads) == 2 for name, probe in probes.executor.nodes.items() if name != "dispatch")


def test_start_run_and_stop_are_on_the_lanes_thread() -> None:
    where: dict[str, set[int]] = {}
    probes = probed(
        "pingpong", lambda node, step, slots: where.setdefault(node, set()).add(threading.get_ident())
    )
    with probes.run() as run:
        run.submit(0).result(timeout=HANG_S)
    for name, seen in where.items():
        assert set(probes.executor.nodes[name].threads) == seen
    assert len({next(iter(seen)) for seen in where.values()}) == 3


def test_a_thread_that_cannot_be_started_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def limited(thread: threading.Thread) -> None:
        if thread.name == "laneflow-output":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(RuntimeError, match="can't start new thread"), probed("pingpong").run():
        pytest.fail("the block must not run")
    assert lanes_alive() == []


@pytest.mark.parametrize(
    "option",
    [
        {"queue": 0},
        {"queue": 1.5},
        {"threads": 0},
        {"threads": 1.5},
        {"drain_timeout": -1.0},
        {"drain_timeout": float("nan")},
        {"completion_timeout": 0.0},
        {"completion_timeout": float("nan")},
        {"drain_timeout": "1"},
        {"completion_timeout": True},
        {"switch_interval_ms": 0.01},
        {"switch_interval_ms": "0.25"},
        {"switch_interval_ms": True},
        {"switch_interval_ms": float("inf")},
        {"wake_latency_us": -1},
        {"wake_latency_us": 0.5},
        {"wake_latency_us": True},
    ],
)
def test_impossible_options_are_refused(option: dict[str, Any]) -> None:
    """`threads=0` used to kill the lanes before they were ready, and the start waited forever."""
    with (
        pytest.raises(
            ValueError,
            match=r"queue|threads|drain_timeout|completion_timeout|switch_interval_ms|wake_latency_us",
        ),
        probed("pingpong").run(**option),
    ):
        pytest.fail("the block must not run")


def test_what_is_no_program_or_no_executor_is_told_with_the_mend() -> None:
    probes = probed("pingpong")
    topology = load("pingpong")
    with pytest.raises(TypeError, match=r"Runtime\(compile\(topology\), executor\)"):
        Runtime(topology, probes.executor)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"what `compile\(topology\)` returns, not of 'pingpong'"):
        Runtime("pingpong", probes.executor)  # type: ignore[arg-type]
    for wrong in (None, probes.executor.nodes):
        with pytest.raises(TypeError, match="needs an `Executor`"):
            Runtime(compile(topology), wrong)  # type: ignore[arg-type]


def test_a_step_that_is_submitted_while_the_run_fails_to_start_is_resolved() -> None:
    """Its ticket used to stay open, and whoever waited for it did so for ever."""
    tickets: list[Future[Any]] = []
    probes = probed("pingpong")

    def start(context: Any) -> None:
        tickets.append(run.submit("early"))
        raise Boom("no start")

    probes.executor.nodes["dispatch"].start = start  # type: ignore[method-assign]
    run = probes.run()
    with pytest.raises(LifecycleError), run:
        pytest.fail("the block must not run")
    assert isinstance(tickets[0].exception(timeout=0), RuntimeStopped)


def test_submit_on_a_lane_never_waits_for_itself() -> None:
    """It used to block the lane that has to make the room, for ever."""
    refused: list[Exception] = []

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "prepare" and step.index == 0:
            try:
                for _ in range(run.capacity + 1):
                    run.submit("more")
            except QueueFull as error:
                refused.append(error)

    with probed("pingpong", behave).run() as run:
        run.submit("first").result(timeout=HANG_S)
    assert len(refused) == 1
