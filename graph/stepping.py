"""A step on its way: what is known of it, and how its outcome reaches its ticket in order.

A turn that has arrived and has no record is a bubble.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import InvalidStateError
from time import perf_counter_ns
from typing import Any

from graph.errors import RuntimeStopped
from graph.lanes.thread import Shared
from graph.node import Rows
from graph.ticket import Ticket, Withdrawn
from graph.topology import Use

log = logging.getLogger("laneflow")


class StepRecord:
    """One submitted step."""

    __slots__ = (
        "_claim",
        "command",
        "complete",
        "error",
        "index",
        "pending",
        "result",
        "route",
        "rows",
        "started",
        "submitted",
        "ticket",
        "turn",
        "values",
        "visits",
        "written",
    )

    def __init__(
        self,
        turn: int,
        index: int,
        route: str,
        visits: frozenset[str],
        command: Any,
        rows: Rows,
        ticket: Ticket | None = None,
    ) -> None:
        self.turn = turn
        self.index = index
        self.route = route
        self.visits = visits
        self.command = command
        self.rows = rows
        if ticket is None:
            ticket = Ticket()
            ticket.step = self
        self.ticket = ticket
        self.submitted = perf_counter_ns()
        self.started = False
        self._claim = threading.Lock()
        """Guards `started`: a step is either started by a lane or cancelled, by whoever comes first."""
        self.complete = not visits
        """Every node is through with the step, or nobody waits for them any more."""
        self.result: Any = None
        self.error: Exception | None = None
        self.values: dict[tuple[str, str], Any] = {}
        """By producer and type."""
        self.written: list[Use] = []
        """What nodes that ran without error were declared to write."""
        self.pending = list(range(len(visits)))
        """One item per visited node that is waited for and not through; list.pop is atomic: who gets 0 is the last."""

    def all_written(self) -> set[Use]:
        """The same, wherever the nodes are."""
        return set(self.written)

    @property
    def begun(self) -> bool:
        """Whether a lane has begun the step."""
        return self.started

    def start(self) -> None:
        """A first node is about to run: the step can no longer be cancelled; where it was, it has failed."""
        with self._claim:
            self.started = True

    def cancel(self, error: Exception) -> bool:
        """Fail the step and return True if no node of it has run yet, and it has not failed either."""
        with self._claim:
            if self.started or self.error is not None:
                return False
            self.fail(error)
            return True

    def fail(self, error: Exception) -> None:
        """Note the first failure; a later one of the same step tells nothing more."""
        if self.error is None:
            self.error = error

    def resolve(self) -> None:
        """Hand the outcome to the ticket, once, and let go of what only running nodes needed."""
        ticket, error = self.ticket, self.error
        try:
            try:
                if error is None:
                    ticket.succeed(self.result)
                elif isinstance(error, Withdrawn):
                    ticket.withdraw()  # whoever cancels it may not have come to that yet
                else:
                    ticket.fail(error)
            except InvalidStateError:
                ticket.withdraw()  # cancelled as the run gave the step up; or resolved, and then interrupted
        except KeyboardInterrupt:
            raise
        except BaseException:  # of a callback
            log.exception("a callback on the ticket of step %d raised", self.index)
        ticket.step = self.command = self.result = None


class Outbox:
    """Resolves tickets strictly in the order of submission, whichever step is complete first.

    No lock is held while a ticket is resolved, so its callbacks may submit.
    """

    def __init__(self, shared: Shared, keep: int, on_resolved: Callable[[], None]) -> None:
        self._shared = shared
        self._keep = keep
        """How many turns behind a step its nodes may still look."""
        self._on_resolved = on_resolved
        self._next = 0
        self._resolving = threading.Lock()
        """Held by the one thread that resolves tickets, which also advances `_next` and `resolved`."""
        self.resolved = 0
        """Steps whose ticket is resolved, bubbles not counted."""

    def complete(self, record: StepRecord) -> None:
        """The step is over; resolve its ticket and those behind it that only waited for it."""
        record.complete = True
        self.settle()

    def settle(self) -> None:
        """Resolve what can be resolved; where another thread is at it, that thread sees to it."""
        shared, records = self._shared, self._shared.records
        while self._next < shared.arrived:
            first = records.get(self._next)
            if first is not None and not first.complete:
                return
            if not self._resolving.acquire(blocking=False):
                return
            try:
                self._resolve_due()
            finally:
                self._resolving.release()
            # looked at again: a step that became complete meanwhile was left to this thread

    def abandon(self, error: Callable[[], Exception]) -> None:
        """Resolve every ticket that is left: with its own outcome where it has one, else with `error`."""
        for record in self.unresolved():
            if not record.complete:
                record.fail(error())
                record.complete = True
        waited = self._resolving.acquire(timeout=1.0)  # in vain only where a callback blocks its lane
        try:
            self._resolve_due()
        finally:
            if waited:
                self._resolving.release()

    def unresolved(self) -> list[StepRecord]:
        """Steps that have arrived and whose ticket is not resolved, in order."""
        found = (self._shared.records.get(turn) for turn in range(self._next, self._shared.arrived))
        return [record for record in found if record is not None]

    def _resolve_due(self) -> None:
        """Resolve up to the first step that is not complete; on every lane's way, so each step is looked at once."""
        shared, records = self._shared, self._shared.records
        turn = self._next
        while turn < shared.arrived:
            record = records.get(turn)
            if record is not None:
                if not record.complete:
                    return
                self.resolved += 1
                self._on_resolved()
                record.resolve()
            records.pop(turn - self._keep, None)
            turn += 1
            self._next = turn


def stopped() -> RuntimeStopped:
    return RuntimeStopped("the run was stopped before this step started")


def cut_short() -> RuntimeStopped:
    return RuntimeStopped("the run ended before this step was through")
