"""A step on its way: what is known of it, and how its outcome reaches its ticket in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from graph.errors import RuntimeStopped
from graph.node import Rows
from graph.topology import Use


class StepRecord:
    """One turn's step. A bubble visits no node and has neither index nor ticket."""

    __slots__ = (
        "command",
        "complete",
        "error",
        "index",
        "pending",
        "result",
        "route",
        "rows",
        "started",
        "unclaimed",
        "ticket",
        "turn",
        "values",
        "visits",
        "written",
    )

    def __init__(
        self,
        turn: int,
        *,
        index: int = -1,
        route: str = "",
        visits: frozenset[str] = frozenset(),
        command: Any = None,
        rows: Rows = (),
        ticket: Future[Any] | None = None,
    ) -> None:
        self.turn = turn
        self.index = index
        self.route = route
        self.visits = visits
        self.command = command
        self.rows = rows
        self.ticket = ticket
        self.started = False
        self.unclaimed = [True]
        self.complete = False
        self.result: Any = None
        self.error: Exception | None = None
        self.values: dict[tuple[str, str], Any] = {}
        """By producer and type."""
        self.written: list[Use] = []
        """What nodes that ran without error were declared to write."""
        self.pending = list(range(len(visits)))
        """One item per visited node that is not through; list.pop is atomic, so whoever gets 0 is the last."""

    def start(self) -> None:
        """A first node is about to run: from here the ticket can no longer be cancelled; where it was, fail the step."""
        self.started = True
        try:
            self.unclaimed.pop()  # atomic: two lanes may start a step at the same time
        except IndexError:
            return
        if self.ticket is not None and not self.ticket.set_running_or_notify_cancel():
            self.fail(RuntimeStopped("the step was cancelled before it started"))

    def fail(self, error: Exception) -> None:
        """Note the first failure; a later one of the same step tells nothing more."""
        if self.error is None:
            self.error = error


class Outbox:
    """Resolves tickets strictly in the order of submission, whichever step is complete first."""

    def __init__(self) -> None:
        self._waiting: deque[StepRecord] = deque()
        self._lock = threading.Lock()
        self._empty = threading.Condition(self._lock)

    def expect(self, record: StepRecord) -> None:
        """The next ticket in order."""
        with self._lock:
            self._waiting.append(record)

    def complete(self, record: StepRecord) -> None:
        """The step is over; resolve its ticket and those behind it that only waited for it."""
        with self._lock:
            record.complete = True
            while self._waiting and self._waiting[0].complete:
                _resolve(self._waiting.popleft())
            if not self._waiting:
                self._empty.notify_all()

    def abandon(self, error: Callable[[], Exception]) -> None:
        """Resolve every ticket that is left: with its own outcome where it has one, else with `error`."""
        with self._lock:
            while self._waiting:
                record = self._waiting.popleft()
                if not record.complete:
                    record.fail(error())
                _resolve(record)
            self._empty.notify_all()

    def unstarted(self) -> list[StepRecord]:
        """Steps of which no node has run yet."""
        with self._lock:
            return [record for record in self._waiting if not record.started]

    def wait_empty(self, timeout: float | None) -> bool:
        """Wait until every ticket is resolved; False where that took longer than `timeout` seconds."""
        with self._lock:
            return self._empty.wait_for(lambda: not self._waiting, timeout)


def _resolve(record: StepRecord) -> None:
    ticket = record.ticket
    if ticket is None or ticket.cancelled():
        return
    if not ticket.running() and not ticket.set_running_or_notify_cancel():
        return  # cancelled in this moment
    if record.error is not None:
        ticket.set_exception(record.error)
    else:
        ticket.set_result(record.result)


def stopped() -> RuntimeStopped:
    return RuntimeStopped("the run was stopped before this step started")
