"""No wait is there for nothing: without it there are delays under which its two nodes overlap, and a run shows it.

With the wait in place, the same delays give a clean run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from graph import Executor, Program, Runtime, StepError, Topology, Unfinished, compile, load
from graph.checked import GuardError
from graph.files import shipped
from graph.program import Channel
from nodes.chip_run import Run, RunStreamError, SimulatedChip, executor
from nodes.simulated import simulated
from tests.fakes import HANG_S
from tests.graph.firing_order import violations
from tests.nodes.chip_run.driving import double, doubled
from tests.nodes.chip_run.sequencing import Sequencer, counterexample, spots, without
from tests.nodes.chip_run.watching import watched

pytestmark = pytest.mark.usefixtures("nothing_left")

PATIENCE_S = 0.03
"""How long a call is held for another one that a wait keeps from starting; how long it is does not matter."""
PROGRAMS = {name: compile(load(name)) for name in shipped() if not load(name).abstract}
WAITS = [
    pytest.param(program, channel, id=f"{name}-{channel.producer}-{channel.consumer}@{channel.tokens}")
    for name, program in PROGRAMS.items()
    for channel in program.channels
]


def idle(topology: Topology) -> Executor:
    """Nodes that take no time."""
    return simulated(topology, dict.fromkeys(topology.nodes, 0.0))


def follow(
    program: Program, sequencer: Sequencer, parts: Executor, command: Callable[[int], Any]
) -> tuple[list[str], list[Any]]:
    """The violations in a run of `program` by the sequencer's schedule, and each step's outcome."""
    watching = watched(parts, sequencer.log, sequencer.before, sequencer.during)
    routes = sequencer.example.routes
    with Runtime(program, watching, checked=True, queue=len(routes), drain_timeout=HANG_S) as run:
        tickets = [run.submit(command(step), route=route) for step, route in enumerate(routes)]
        sequencer.go()
        outcomes = [ticket.exception(timeout=HANG_S) or ticket.result() for ticket in tickets]
    return violations(program.topology, sequencer.log), outcomes


@pytest.mark.parametrize(("program", "channel"), WAITS)
def test_a_wait_that_is_left_out_is_found(program: Program, channel: Channel) -> None:
    example = counterexample(program, channel)
    assert {example.late, example.early} <= spots(example.schedule)
    sequencer = Sequencer(example, HANG_S)
    found, outcomes = follow(without(program, channel), sequencer, idle(program.topology), lambda step: step)
    assert example.verdict in found, outcomes
    assert sequencer.overdue == []


@pytest.mark.parametrize(("program", "channel"), WAITS)
def test_with_the_wait_the_same_delays_do_no_harm(program: Program, channel: Channel) -> None:
    sequencer = Sequencer(counterexample(program, channel), PATIENCE_S)
    found, _ = follow(program, sequencer, idle(program.topology), lambda step: step)
    assert found == []
    assert sequencer.example.late in sequencer.overdue


CHIP = PROGRAMS["chip_run"]
ON_THE_CHIP = [
    pytest.param(channel, id=f"{channel.producer}-{channel.consumer}@{channel.tokens}")
    for channel in CHIP.channels
]


def run_of(step: int) -> Run:
    return Run(double, {"values": float(step + 1)})


def refused(outcome: Any, node: str, cause: type[Exception]) -> bool:
    return isinstance(outcome, StepError) and outcome.node == node and isinstance(outcome.cause, cause)


def read_too_early(outcome: Any) -> bool:
    """What was in the slot before the run; or it is caught as the run writes it, or as its stream is retired."""
    if isinstance(outcome, Exception):
        return refused(outcome, "complete", GuardError) or refused(outcome, "retire", Unfinished)
    return doubled(outcome) == 0.0


SEEN_BY_THE_RUN: dict[str, Callable[[Any], bool]] = {
    "execute": lambda outcome: refused(outcome, "execute", RunStreamError),
    "complete": read_too_early,
}
"""What becomes of step 0 where the node of that name does not wait. Where another does not, only the log is sure."""


@pytest.mark.parametrize("channel", ON_THE_CHIP)
def test_runs_on_the_chip_show_a_wait_that_is_left_out(channel: Channel) -> None:
    sequencer = Sequencer(counterexample(CHIP, channel), HANG_S)
    with closing(SimulatedChip()) as chip:
        found, outcomes = follow(without(CHIP, channel), sequencer, executor(chip), run_of)
    assert sequencer.example.verdict in found
    if channel.consumer in SEEN_BY_THE_RUN:
        assert SEEN_BY_THE_RUN[channel.consumer](outcomes[0]), outcomes
    assert sequencer.overdue == []


@pytest.mark.parametrize("channel", ON_THE_CHIP)
def test_runs_on_the_chip_are_right_under_the_same_delays(channel: Channel) -> None:
    sequencer = Sequencer(counterexample(CHIP, channel), PATIENCE_S)
    with closing(SimulatedChip()) as chip:
        found, outcomes = follow(CHIP, sequencer, executor(chip), run_of)
    assert found == []
    assert [doubled(outcome) for outcome in outcomes] == [2.0 * (step + 1) for step in range(len(outcomes))]
