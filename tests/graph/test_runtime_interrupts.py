"""Ctrl-C, wherever it comes: nothing is left half done, no ticket unresolved, no lane alive."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from graph import Runtime
from tests.fakes import HANG_S, Gate, lanes_alive, probed, until
from tests.graph.interrupts import after_ctrl_c, interrupting

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.mark.parametrize("name", ["pingpong", "overlap"])
def test_an_interrupt_anywhere_in_submit_leaves_the_step_wholly_in_or_wholly_out(name: str) -> None:
    line, interrupted = 0, True
    while interrupted:
        line += 1
        gate, prepared = Gate(), list[tuple[int, str]]()

        def behave(
            node: str, step: Any, slots: Any, gate: Gate = gate, prepared: list[Any] = prepared
        ) -> None:
            if node == "prepare":
                prepared.append((step.index, step.command))
            if node == "dispatch" and step.index == 0:
                gate.pass_through()

        with probed(name, behave).run() as run:
            before = run.submit("before")
            gate.wait()
            until(lambda run=run: "waits for a command" in run.wait_graph(), "the host lane sleeps")
            interrupted = interrupting(lambda run=run: run.submit("interrupted"), line)
            gate.open()
            assert before.result(timeout=HANG_S) == 0
            for _ in range(2 * run.capacity):
                after = run.submit("after")
            after.result(timeout=HANG_S)
        commands = [command for _, command in prepared]
        assert [index for index, _ in prepared] == list(range(len(prepared)))
        assert len(prepared) == run._shared.last_turn - run.program.max_lag - run.bubbles
        assert commands.count("interrupted") <= 1
        assert commands.count("after") == 2 * run.capacity
    assert line > 10


@pytest.mark.parametrize(("name", "cancel"), [("pingpong", True), ("overlap", False)])
def test_an_interrupt_anywhere_in_stop_ends_the_run_all_the_same(name: str, cancel: bool) -> None:
    line, interrupted = 0, True
    while interrupted:
        line += 1
        run = probed(name).run()
        run.__enter__()
        tickets = [run.submit(index) for index in range(3)]
        interrupted = interrupting(lambda run=run: run._stop(cancel), line)
        assert all(ticket.done() for ticket in tickets)
        assert lanes_alive() == []
        assert run.held_slots() == [] or run._shared.halted
    assert line > 10


def test_an_interrupt_anywhere_in_the_start_leaves_no_lane() -> None:
    line, interrupted = 0, True
    while interrupted:
        line += 1
        run = probed("pingpong").run()
        interrupted = interrupting(lambda run=run: _enter_and_leave(run), line)
        assert lanes_alive() == []
    assert line > 10


def _enter_and_leave(run: Runtime) -> None:
    with run:
        pass


SCRIPT = """
    from graph import Executor, Runtime, compile, load
    from nodes.simulated import simulated

    program = compile(load(sys.argv[1]))
    executor = simulated(program.topology, {{"dispatch": {dispatch_ms}}}, holds_lock=False)
    tickets = []
    try:
        with Runtime(program, executor, queue=20) as run:
            tickets = [run.submit(index) for index in range(20)]
            print("ready", flush=True)
            tickets[-1].result()
            raise SystemExit("the interrupt never came")
    except KeyboardInterrupt:
        tell(tickets)
"""


@pytest.mark.parametrize(
    ("name", "dispatch_ms", "signals"), [("pingpong", 100, 1), ("overlap", 400, 2), ("sync", 400, 2)]
)
def test_ctrl_c_ends_a_run_promptly_with_every_ticket_resolved(
    name: str, dispatch_ms: int, signals: int
) -> None:
    out, err = after_ctrl_c(SCRIPT.format(dispatch_ms=dispatch_ms), name, signals)
    assert out == "lanes [] done 20 finished True\n", err


def test_tickets_of_an_interrupted_block_are_resolved() -> None:
    tickets: list[Future[Any]] = []
    with pytest.raises(KeyboardInterrupt), probed("deep").run(queue=10) as run:
        tickets.extend(run.submit(index) for index in range(10))
        raise KeyboardInterrupt
    until(lambda: all(ticket.done() for ticket in tickets), "every ticket is resolved")
