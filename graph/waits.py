"""The wait graph of a run: what each lane is doing, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from graph.program import LaneProgram, Op, Program


def wait_graph(
    program: Program, done: Mapping[str, int], arrived: int, step_name: Callable[[int], str]
) -> str:
    """One line a lane: the node and step it has come to, and each wait of it that is not met.

    `done` has the turns that each node is through; `arrived` is how many turns have come in, bubbles
    included, and `step_name` what the step of such a turn is called.
    """
    return "\n".join(_lane(program, lane, done, arrived, step_name) for lane in program.lanes)


def _lane(
    program: Program,
    lane: LaneProgram,
    done: Mapping[str, int],
    arrived: int,
    step_name: Callable[[int], str],
) -> str:
    op = _current(lane, done)
    turn = done[op.node]
    unmet = []
    if op.entry and turn - op.lag >= arrived:
        unmet.append("a command")
    for index in op.waits:
        channel = program.channels[index]
        if done[channel.producer] <= turn - channel.tokens:
            step = step_name(turn - channel.tokens - program.graph.lag[channel.producer])
            what = f" (slot of `{channel.arc.buffer}`)" if channel.arc.buffer else ""
            unmet.append(f"`{channel.producer}` of {step}{what}")
    state = f"waits for {' and '.join(unmet)}" if unmet else "is at work"
    return f"lane {lane.name}: `{op.node}` of {step_name(turn - op.lag)} {state}"


def _current(lane: LaneProgram, done: Mapping[str, int]) -> Op:
    """The first entry that has done the fewest turns."""
    return min(lane.ops, key=lambda op: done[op.node])
