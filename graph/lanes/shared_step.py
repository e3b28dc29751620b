"""A step in a run with lanes in several processes: each process has a record of its own, the facts are on the board.

That a step has begun, was cancelled or has failed, and which nodes have run, is on the board before the node that
found it out signals, so that every lane sees what it would see were all of them threads. What goes with it, the
exception or a value, comes by pipe and is waited for by whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graph.lanes.board import CANCELLED, PENDING, STARTED, Board
from graph.lanes.carried import pack, unpack, unpack_error
from graph.lanes.mailbox import ERROR, Mailbox
from graph.node import Rows
from graph.stepping import StepRecord, cut_short
from graph.ticket import Ticket
from graph.topology import Topology, Use

Share = Callable[[StepRecord], None]
STATE, FAILED, FIRST_NODE = range(3)
"""Places in a step's facts."""


class Common:
    """What the records of one process share. `incoming` are the values, by producer and type, whose producers are
    elsewhere; `tell` sends a failure that was found out here to the other processes."""

    def __init__(
        self,
        board: Board,
        nodes: Sequence[str],
        incoming: frozenset[tuple[str, str]],
        mailbox: Mailbox,
        tell: Callable[[int, Exception], None],
        topology: Topology,
    ) -> None:
        self.writes = {node: topology.nodes[node].writes for node in nodes}
        self.board, self.mailbox, self.incoming, self.tell = board, mailbox, incoming, tell
        self.place = {node: FIRST_NODE + position for position, node in enumerate(nodes)}


def sharing(node: str, kinds: Sequence[str], send: Callable[[int, str, str, bytes], None]) -> Share:
    """What a node's firing does once the node has run."""

    def share(step: StepRecord) -> None:
        assert isinstance(step, SharedStep)
        step.share(node, kinds, send)

    def say(step: StepRecord) -> None:  # the rule, and on every step's way
        step.facts[step.common.place[node]] = 1  # type: ignore[attr-defined]

    return share if kinds else say


class Values(dict[tuple[str, str], Any]):
    """A step's values; those that come from elsewhere are unpickled when they are first asked for."""

    def __init__(self, turn: int, facts: memoryview, common: Common) -> None:
        super().__init__()
        self._turn, self._facts, self._common = turn, facts, common

    def get(self, key: tuple[str, str], default: Any = None) -> Any:
        common = self._common
        if key not in self and key in common.incoming and self._facts[common.place[key[0]]]:
            payload = common.mailbox.wait(self._turn, key)
            if payload is None:
                raise cut_short()
            self[key] = unpack(payload)
        return super().get(key, default)


class SharedStep(StepRecord):
    """One process's record of a step."""

    __slots__ = ("_error", "common", "facts")

    def __init__(
        self,
        common: Common,
        turn: int,
        index: int,
        route: str,
        visits: frozenset[str],
        command: Any,
        rows: Rows,
        ticket: Ticket | None = None,
    ) -> None:
        self._error: Exception | None = None
        self.facts = common.board.facts(turn)
        """On the board: its state, whether it has failed, and for each node whether it has run."""
        self.common = common
        super().__init__(turn, index, route, visits, command, rows, ticket)
        self.values = Values(turn, self.facts, common)

    @property
    def error(self) -> Exception | None:
        if self._error is None and self.facts[FAILED]:
            payload = self.common.mailbox.wait(self.turn, ERROR)
            self._error = cut_short() if payload is None else unpack_error(payload)
        return self._error

    @error.setter
    def error(self, error: Exception | None) -> None:
        self._error = error

    def share(self, node: str, kinds: Sequence[str], send: Callable[[int, str, str, bytes], None]) -> None:
        """The node has run: send its values of these types, then say so on the board."""
        packed = [(kind, pack(self.values.get((node, kind)), f"the {kind} of `{node}`")) for kind in kinds]
        for kind, payload in packed:
            send(self.turn, node, kind, payload)
        self.facts[self.common.place[node]] = 1

    def all_written(self) -> set[Use]:
        common = self.common
        ran = (node for node, place in common.place.items() if self.facts[place])
        return {use for node in ran for use in common.writes[node]}

    @property
    def begun(self) -> bool:
        """Whether a lane has begun the step, in whatever process."""
        return self.facts[STATE] == STARTED

    def start(self) -> None:
        if self.facts[STATE] == PENDING:
            self.common.board.lock.run(self._claim_for_a_lane)
        self.started = True

    def _claim_for_a_lane(self) -> None:
        if self.facts[STATE] == PENDING:
            self.facts[STATE] = STARTED

    def fail(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
            self.facts[FAILED] = 1
            self.common.tell(self.turn, error)


class OwnStep(SharedStep):
    """The record in the process of the run, which has the ticket. Made before the step arrives.

    `untold` is how many of its nodes are through before another of them that is waited for.
    """

    __slots__ = ("packed_command",)

    def __init__(
        self,
        common: Common,
        sends_command: bool,
        untold: int,
        turn: int,
        index: int,
        route: str,
        visits: frozenset[str],
        command: Any,
        rows: Rows,
    ) -> None:
        facts = common.board.facts(turn)
        facts[:] = bytes(len(facts))
        super().__init__(common, turn, index, route, visits, command, rows)
        self.pending = list(range(len(visits) - untold))
        self.packed_command = pack(self.command, "the command") if sends_command else None

    def resolve(self) -> None:
        super().resolve()
        self.packed_command = None

    def cancel(self, error: Exception) -> bool:
        """Fail the step and return True if no node of it has run yet, in whatever process."""
        cancelled = bool(self.common.board.lock.run(lambda: self._claim_cancelled(error)))
        if cancelled:
            self.tell()
        return cancelled

    def tell(self) -> None:
        """Say why the step has failed, where it has: a lane that sees it on the board waits for the reason.

        May be done again, where a KeyboardInterrupt came between the two.
        """
        if self._error is not None:
            self.facts[FAILED] = 1
            self.common.tell(self.turn, self._error)

    def _claim_cancelled(self, error: Exception) -> bool:
        if self.facts[STATE] != PENDING or self._error is not None:
            return False
        self._error = error
        self.facts[FAILED] = 1
        self.facts[STATE] = CANCELLED
        return True


class AwayStep(SharedStep):
    """The record in the process of a lane. `own` are the nodes of that lane; `told` says whether the run is told when
    they are through with it."""

    __slots__ = ("_command", "_packed_command", "own", "packed_result")

    def __init__(
        self,
        common: Common,
        turn: int,
        index: int,
        route: str,
        visits: frozenset[str],
        command: bytes | None,
        rows: Rows,
        submitted: int,
        own: frozenset[str],
        told: bool,
    ) -> None:
        self.packed_result: bytes | None = None
        self._packed_command = command
        super().__init__(common, turn, index, route, visits, None, rows, _NO_TICKET)
        self.submitted = submitted
        self.own = len(visits & own)
        """Visited nodes of this lane; here nobody waits for others."""
        self.pending = list(range(self.own) if told else range(1, self.own + 1))

    @property
    def command(self) -> Any:
        if self._packed_command is not None:
            self._command, self._packed_command = unpack(self._packed_command), None
        return self._command

    @command.setter
    def command(self, command: Any) -> None:
        self._command = command

    @property
    def result(self) -> Any:
        raise AttributeError("a result is only sent")

    @result.setter
    def result(self, result: Any) -> None:
        self.packed_result = None if result is None else pack(result, "the result of the step")


_NO_TICKET = Ticket()
