"""Runs that follow a schedule: a program without one of its waits, and calls that are held until it is their turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graph import Program, Topology
from graph.diagnostics import Clash, Firing, Moment
from graph.order import MarkedGraph
from graph.program import Channel, LaneProgram
from graph.witness import unordered
from tests.fakes import Event

Spot = tuple[str, int]
"""A node and the turn of its step."""


def without(program: Program, channel: Channel) -> Program:
    """The program without that wait and its signal.

    The node that waited still waits for its step to be submitted, and the other channels have room for a lane that
    runs ahead: so what goes wrong is the order of the two nodes and nothing else.
    """
    left_out = program.channels.index(channel)

    def keep(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index for index in indices if index != left_out)

    def lane_without(lane: LaneProgram) -> LaneProgram:
        ops = (
            replace(
                op,
                waits=keep(op.waits),
                signals=keep(op.signals),
                entry=op.entry or op.node == channel.consumer,
            )
            for op in lane.ops
        )
        return replace(lane, ops=tuple(ops))

    return replace(
        program,
        lanes=tuple(map(lane_without, program.lanes)),
        channels=tuple(replace(one, capacity=one.capacity + 16) for one in program.channels),
    )


def kept_waits(program: Program, left_out: Channel) -> MarkedGraph:
    """The waits that the lanes really make, but for one."""
    in_lanes = tuple(arc for arc in program.graph.arcs if arc.reason == "lane")
    across = tuple(channel.arc for channel in program.channels if channel is not left_out)
    return MarkedGraph(in_lanes + across, program.graph.lag, program.graph.lane)


@dataclass(frozen=True)
class Counterexample:
    """What a wait is for: a schedule of the program without it. `late` should be through when `early` starts."""

    late: Spot
    early: Spot
    schedule: tuple[Firing, ...]
    routes: tuple[str, ...]
    """Of the steps that it takes, in order; the last ones make the turns in which a node with a lag works."""

    @property
    def verdict(self) -> str:
        """What is found of a run that goes by the schedule."""
        return (
            f"{self.late[0]} of {self.late[1]} is not through when {self.early[0]} of {self.early[1]} starts"
        )


def counterexample(program: Program, channel: Channel) -> Counterexample:
    """For the first steps that the wait keeps apart."""
    topology, lag = program.topology, program.graph.lag
    late, early, tokens = channel.producer, channel.consumer, channel.tokens
    turn = max(lag[late], lag[early] - tokens)
    late_step, early_step = turn - lag[late], turn + tokens - lag[early]
    if late_step == early_step:
        both = _route(topology, late, early)
        routes = {late_step: both}
    else:
        routes = {late_step: _route(topology, late), early_step: _route(topology, early)}
    clash = Clash(Moment(late, late_step, routes[late_step]), Moment(early, early_step, routes[early_step]))
    first = next(iter(topology.steps_routes()))
    return Counterexample(
        (late, late_step),
        (early, early_step),
        unordered(topology, kept_waits(program, channel), clash),
        tuple(routes.get(step, first) for step in range(1 + max(turn, turn + tokens))),
    )


def _route(topology: Topology, *nodes: str) -> str:
    return next(name for name, members in topology.steps_routes().items() if set(nodes) <= set(members))


class Sequencer:
    """Holds the calls of a run to a schedule: each starts when those before it have, and behind those that ended.

    `late` does its work once `early` has ended. No call is held for longer than `patience_s`; one that was is in
    `overdue`, and goes on.
    """

    def __init__(self, example: Counterexample, patience_s: float) -> None:
        self.example, self.patience_s = example, patience_s
        self.log: list[Event] = []
        self.overdue: list[Spot] = []
        self._firings = {(one.node, one.step): one for one in example.schedule}
        self._submitted = threading.Event()

    def go(self) -> None:
        """All steps are submitted."""
        self._submitted.set()

    def before(self, node: str, turn: int) -> None:
        self._submitted.wait(self.patience_s)
        mine = self._firings.get((node, turn))
        if mine is None:
            return
        ended = {spot for spot, one in self._firings.items() if one.end <= mine.start}
        started = {spot for spot, one in self._firings.items() if one.start < mine.start}
        if (node, turn) == self.example.early:
            started.add(self.example.late)
        self._hold((node, turn), lambda: started <= self._seen("start") and ended <= self._seen("end"))

    def during(self, node: str, turn: int) -> None:
        if (node, turn) == self.example.late:
            self._hold((node, turn), lambda: self.example.early in self._seen("end"))

    def _hold(self, spot: Spot, come: Callable[[], bool]) -> None:
        until = time.monotonic() + self.patience_s
        while not come():
            if time.monotonic() >= until:
                self.overdue.append(spot)
                return
            time.sleep(0.0005)

    def _seen(self, what: str) -> set[Spot]:
        return {(event.node, event.turn) for event in tuple(self.log) if event.what == what}


def spots(schedule: Sequence[Firing]) -> set[Spot]:
    return {(one.node, one.step) for one in schedule}
