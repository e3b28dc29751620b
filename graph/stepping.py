"""A step on its way: what is known of it, and how its outcome reaches its ticket in order.

A turn that has arrived and has no record is a bubble.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from time import perf_counter_ns
from typing import Any

from graph.errors import RuntimeStopped
from graph.lanes.thread import Shared
from graph.node import Rows
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
        ticket: Future[Any] | None = None,
    ) -> None:
        self.turn = turn
        self.index = index
        self.route = route
        self.visits = visits
        self.command = command
        self.rows = rows
        self.ticket: Future[Any] = Future() if ticket is None else ticket
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
        """One item per visited node that is not through; list.pop is atomic: whoever gets 0 is the last."""

    def all_written(self) -> set[Use]:
        """The same, wherever the nodes are."""
        return set(self.written)

    def start(self) -> None:
        """A first node is about to run: the ticket can no longer be cancelled; where it was, fail."""
        with self._claim:
            if not self.started:
                if not self.ticket.set_running_or_notify_cancel():
                    self.fail(RuntimeStopped("the step was cancelled before it started"))
                self.started = True

    def cancel(self, error: Exception) -> bool:
        """Fail the step and return True if no node of it has run yet."""
        with self._claim:
            if not self.started:
                self.fail(error)
            return not self.started

    def fail(self, error: Exception) -> None:
        """Note the first failure; a later one of the same step tells nothing more."""
        if self.error is None:
            self.error = error

    def resolve(self) -> None:
        """Hand the outcome to the ticket, once, and let go of what only running nodes needed."""
        ticket = self.ticket
        if not ticket.done() and (ticket.running() or ticket.set_running_or_notify_cancel()):
            try:
                if self.error is not None:
                    ticket.set_exception(self.error)
                else:
                    ticket.set_result(self.result)
            except KeyboardInterrupt:
                raise
            except BaseException:  # of a callback, or where somebody else has resolved the ticket
                log.exception("the ticket of step %d could not be resolved quietly", self.index)
        self.command = self.result = None


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
        while self._due() and self._resolving.acquire(blocking=False):
            try:
                self._resolve_due()
            finally:
                self._resolving.release()

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

    def _due(self) -> bool:
        if self._next >= self._shared.arrived:
            return False
        record = self._shared.records.get(self._next)
        return record is None or record.complete

    def _resolve_due(self) -> None:
        records = self._shared.records
        while self._due():
            record = records.get(self._next)
            if record is not None:
                self.resolved += 1
                self._on_resolved()
                record.resolve()
            records.pop(self._next - self._keep, None)
            self._next += 1


def stopped() -> RuntimeStopped:
    return RuntimeStopped("the run was stopped before this step started")


def cut_short() -> RuntimeStopped:
    return RuntimeStopped("the run ended before this step was through")
