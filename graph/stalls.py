"""What lanes waited for, found out from the spans of a run afterwards.

All idle time of a lane, from its first firing on, is told: a wait lasts from when the lane came to the node
until the last thing that was missing was there, and what is left, until the node started, is overhead: waking
up, the interpreter lock, laneflow itself. Nodes that are passed leave no span; when they were through is
reconstructed from what they waited for, so that a wait behind a passed node is laid to the node that worked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from graph.program import Channel, Op, Program
from graph.schedule import turn_order
from graph.trace import Span


class Cause(NamedTuple):
    """What was missing last."""

    reason: Literal["edge", "slot", "in_flight", "command", "overhead"]
    node: str | None = None
    """The node whose end was waited for."""
    buffer: str | None = None

    def __str__(self) -> str:
        if self.reason == "command":
            return "a step to be submitted"
        if self.reason == "overhead":
            return "overhead (wake-up, interpreter, laneflow)"
        if self.reason == "slot":
            return f"a slot of `{self.buffer}`, until `{self.node}` ended"
        return f"`{self.node}` to end" + (" (in_flight)" if self.reason == "in_flight" else "")


class Stall(NamedTuple):
    """Idle time of a lane at one node; times are those of the spans."""

    lane: str
    node: str
    turn: int
    """Of the step that the node was to work on."""
    cause: Cause
    start: int
    end: int


def stalls(spans: Sequence[Span], program: Program) -> list[Stall]:
    """Every stall of every lane, in turn order."""
    return list(_Sweep(spans, program).run()) if spans else []


class _Place(NamedTuple):
    """An entry of a lane's program, and the one that the lane comes from."""

    lane: str
    op: Op
    before: str
    turns_back: int
    """0 where that one is of the same turn, 1 where it ends the turn before."""


class _Through(NamedTuple):
    """When a node was through in some turn of its lane, and what that was due to."""

    time: int
    cause: Cause


@dataclass
class _Sweep:
    """Goes through the turns once, keeping when each node was through."""

    spans: Sequence[Span]
    program: Program
    through: dict[tuple[str, int], _Through] = field(default_factory=dict)

    def run(self) -> Iterator[Stall]:
        lag = self.program.graph.lag
        self._worked = {(span.node, span.turn + lag[span.node]): span for span in self.spans}
        self._submitted = {span.turn: span.submitted for span in self.spans}
        self._unannounced: set[str] = set()
        places = {place.op.node: place for place in _places(self.program)}
        order = [places[node] for node in turn_order(self.program.graph)]
        turns = [turn for _, turn in self._worked]
        for turn in range(min(turns), max(turns) + 1):
            for place in order:
                yield from self._visit(place, turn)

    def _visit(self, place: _Place, turn: int) -> Iterator[Stall]:
        """The stalls of one lane at one entry of its program in one turn."""
        lane, op = place.lane, place.op
        before = self.through.get((place.before, turn - place.turns_back))
        last = self._last_met(op, turn)
        span = self._worked.get((op.node, turn))
        step = turn - op.lag
        if span is None:
            if op.entry and step not in self._submitted:
                self._unannounced.add(lane)
            yield from self._pass(lane, op, turn, before, last)
            return
        if before is not None and span.ready > before.time:
            late = Cause("command" if lane in self._unannounced else "overhead")
            yield Stall(lane, op.node, step, late, before.time, span.ready)
        self._unannounced.discard(lane)
        # A call that was launched ahead has had its turn on the queue only since the one before it ended.
        came = span.ready if before is None else max(span.ready, min(before.time, span.start))
        met = came if last is None else min(max(last.time, came), span.start)
        if last is not None and met > came:
            yield Stall(lane, op.node, step, last.cause, came, met)
        if span.start > met:
            yield Stall(lane, op.node, step, Cause("overhead"), met, span.start)
        self.through[op.node, turn] = _Through(span.end, Cause("edge", op.node))

    def _pass(
        self, lane: str, op: Op, turn: int, before: _Through | None, last: _Through | None
    ) -> Iterator[Stall]:
        """A node that did no work was through as soon as what it waited for was there."""
        if before is not None and last is not None and last.time > before.time:
            yield Stall(lane, op.node, turn - op.lag, last.cause, before.time, last.time)
        known = [one for one in (before, last) if one is not None]
        if known:
            self.through[op.node, turn] = max(known, key=lambda one: one.time)

    def _last_met(self, op: Op, turn: int) -> _Through | None:
        """Of what the node waits for beside its own lane, what came last."""
        waits = [self.program.channels[index] for index in op.waits]
        met = [found for wait in waits if (found := self._met(wait, turn)) is not None]
        submitted = self._submitted.get(turn - op.lag) if op.entry else None
        if submitted is not None:
            met.append(_Through(submitted, Cause("command")))
        return max(met, key=lambda one: one.time, default=None)

    def _met(self, wait: Channel, turn: int) -> _Through | None:
        source = self.through.get((wait.producer, turn - wait.tokens))
        if source is None or source.cause.reason == "command":
            return source
        reason = wait.arc.reason
        assert reason != "lane", "the program of a lane needs no channel"
        return _Through(source.time, Cause(reason, source.cause.node, wait.arc.buffer))


def _places(program: Program) -> Iterator[_Place]:
    for lane in program.lanes:
        for index, op in enumerate(lane.ops):
            yield _Place(lane.name, op, lane.ops[index - 1].node, int(index == 0))
