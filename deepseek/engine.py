"""Requests in, tokens out.

The engine plans steps ahead of their results: while one step runs, the next ones are already submitted, so a request
that ends may have steps in flight. They run on, and what they yield for it is dropped: results are taken by row and
generation, which no later request has. Rows are retired on the device lane behind every step that may touch them, and
are free, as are their pages, once that step is through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import NamedTuple, Self
from weakref import WeakSet

from deepseek.continuation import Continuation
from deepseek.inbox import Inbox
from deepseek.integrity import check_rest
from deepseek.plan import Plan
from deepseek.requests import Event, Finish, Request, RequestError, check
from deepseek.scheduling import Scheduler
from deepseek.sizes import Sizes
from deepseek.stats import Stats
from deepseek.steps import Sampled
from deepseek.tenancy import Entry
from deepseek.tokenizer import Tokenizer
from graph.errors import BindError, InternalError, StepError, Unfinished
from graph.runtime import Runtime

__all__ = ["Engine", "Event", "Finish", "Request", "RequestError", "Stats"]


_SERVED: WeakSet[Runtime] = WeakSet()
"""Runs that have an engine."""


class _InFlight(NamedTuple):
    ticket: Future[tuple[Sampled, ...] | None]
    plan: Plan


class Engine:
    """Runs requests through a run whose executor is that of `deepseek.pipeline`, and is the only user of the run.

    `add` and `abort` may be called from any thread at any time; all else by the one thread that takes the events.
    `sizes` are the executor's, or smaller ones that fit them. A context manager: leaving it closes the engine, which
    has to be before the run ends.
    """

    def __init__(self, run: Runtime, sizes: Sizes, tokenizer: Tokenizer | None = None) -> None:
        if run.rows is None:
            raise BindError(f"`{run.topology_name}` keeps no request-keyed rows, which the engine needs")
        _check_sizes(sizes, {**run.program.topology.dims, **run.executor.dims})
        if run in _SERVED:
            raise BindError("the run has an engine already, and takes no second one until that is closed")
        _SERVED.add(run)
        self.stats = Stats()
        self._run, self._rows, self._sizes, self._tokenizer = run, run.rows, sizes, tokenizer
        self._inbox = Inbox()
        mixes = "mixed" in run.program.topology.steps_routes()
        self._scheduler = Scheduler(run.rows, sizes, self.stats, mixes=mixes)
        self._in_flight: deque[_InFlight] = deque()
        self._told: deque[tuple[Entry, Event]] = deque()
        """Events that nobody has taken yet."""
        self._run_over = False

    # -- requests in -----------------------------------------------------------------------------------------

    def check(self, request: Request) -> None:
        """Raise `RequestError` where `add` would let the request end by one."""
        check(request, self._sizes, has_tokenizer=self._tokenizer is not None)

    def add(self, request: Request, id: str | None = None) -> str:
        """Queue a request; its id, a fresh one if none is given.

        A request that cannot be run gets its error in its turn, as an event. Raises `RequestError` for an id that is
        in use, as it is until that request's last event has been taken; `RuntimeStopped` once the engine is closed.
        """
        return self._inbox.add(request, id)

    def abort(self, id: str) -> bool:
        """End a request early: its last event comes soon. False, and no effect, where it is unknown or has ended."""
        return self._inbox.abort(id)

    # -- events out ------------------------------------------------------------------------------------------

    def generate(self, requests: Sequence[Request]) -> Iterator[Event]:
        """`events` of these requests, whose ids are their indices ("0", "1", ...).

        Raises `RequestError` at once, and runs none of them, where one cannot be run or has its id in use.
        """
        for request in requests:
            self.check(request)
        added: list[str] = []
        try:
            for index, request in enumerate(requests):
                added.append(self.add(request, str(index)))
        except RequestError:
            for name in added:
                self.abort(name)
            raise
        return self.events()

    def events(self) -> Iterator[Event]:
        """Events as they come, each request's in order and the last one with `finish`, until all have ended.

        To be called again when there are new requests. Raises what has ended the run, where it ended.
        """
        while True:
            self._read_inbox()
            self._fill()  # before events are told, so that the device does not wait for whoever takes them
            if self._told:
                yield from self._tell()
            elif self._in_flight:
                self._take()
            else:
                self.check_integrity()
                return

    def _tell(self) -> Iterator[Event]:
        while self._told:
            entry, event = self._told.popleft()
            if event.finish is not None:
                self._inbox.forget(entry)
            yield event

    def _read_inbox(self) -> None:
        for entry in self._inbox.read():
            if entry.over:
                continue
            if entry.aborted:
                self._end(entry, "abort")
            else:
                self._receive(entry)

    def _receive(self, entry: Entry) -> None:
        try:
            self.check(entry.request)
            entry.output = Continuation(entry.request, self._tokenizer)
        except RequestError as refusal:
            entry.refusal = refusal
        self._scheduler.add(entry)

    # -- steps -----------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Submit as many steps as the run takes."""
        while len(self._in_flight) < self._run.capacity:
            plan = self._scheduler.next()
            if plan is None:
                return
            try:
                ticket = self._run.submit(plan.command, route=plan.route, rows=plan.rows)
            except Exception:
                self._run_over = True
                raise
            self._in_flight.append(_InFlight(ticket, plan))

    def _take(self) -> None:
        """Wait for the oldest step and note what came of it."""
        ticket, plan = self._in_flight[0]
        sampled: tuple[Sampled, ...] = ()
        error: StepError | None = None
        try:
            sampled = ticket.result() or ()
        except StepError as failure:
            error = failure
        except Exception:
            self._run_over = True
            raise
        self._in_flight.popleft()
        self.stats.steps[plan.route] += 1
        if error is not None:
            self._fail(plan, error)
        self._scheduler.through(plan)
        if error is None:
            self._commit(plan, sampled)

    def _commit(self, plan: Plan, sampled: tuple[Sampled, ...]) -> None:
        firsts = plan.first_tokens
        owed = {stay.row: stay for stay in (*plan.places, *firsts) if not stay.over}
        for stay in firsts:
            stay.confirmed = True
        for row, tokens in sampled:
            if row in owed:
                stay = owed.pop(row)
                self._count(stay in firsts, len(tokens))
                self._advance(stay.entry, tokens)
        if owed:
            names = ", ".join(f"`{stay.entry.id}`" for stay in owed.values())
            raise InternalError(
                f"a step of route `{plan.route}` yielded nothing for {names}; please report it"
            )

    def _count(self, first: bool, tokens: int) -> None:
        if not first:
            self.stats.places += 1
            self.stats.committed += tokens
            self.stats.drafts += self._sizes.rows - 1

    def _advance(self, entry: Entry, tokens: tuple[int, ...]) -> None:
        """Tell what a step committed, in order; what follows an end is dropped."""
        assert entry.output is not None, "only what can be run has a row"
        for token in tokens:
            entry.tokens.append(token)
            self.stats.tokens += 1
            text, finish = entry.output.push(token)
            self._told.append((entry, Event(entry.id, token, text, finish)))
            if finish is not None:
                self._over(entry, finish)
                return

    def _fail(self, plan: Plan, error: StepError) -> None:
        """A failed step fails its requests: neither their positions nor their device state can be trusted."""
        for stay in plan.touched:
            stay.unproved |= isinstance(error.cause, Unfinished)
        entries = [stay.entry for stay in plan.touched if not stay.over]
        for entry in (*entries, *([plan.refused] if plan.refused else [])):
            if not entry.over:
                self._end(entry, "error", error)

    def _end(self, entry: Entry, finish: Finish, error: StepError | None = None) -> None:
        """End a request from outside."""
        if entry.output is not None:
            text = entry.output.finish()
        else:
            text = None if self._tokenizer is None else ""
        self._told.append((entry, Event(entry.id, None, text, finish, error)))
        self._over(entry, finish)

    def _over(self, entry: Entry, finish: Finish) -> None:
        entry.over = True
        self.stats.requests[finish] += 1
        self._scheduler.drop(entry)

    # -- the end ---------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Abort what is left, wait for the steps in flight, retire all rows. Raises as `check_integrity`.

        Where the run has ended there is nothing to wait for. Events that nobody has taken can still be taken.
        """
        self._inbox.close()
        _SERVED.discard(self._run)
        try:
            self._read_inbox()
            self._fill()
            while self._in_flight:
                self._take()
                self._fill()
        except Exception:
            if not self._run_over:
                raise
            self._in_flight.clear()
            self._scheduler.forfeit()
        self.check_integrity()

    def check_integrity(self) -> None:
        """At rest, raise `InternalError` that names each step, row and page that is left."""
        taken = self._rows.taken - self.stats.withdrawn_rows
        check_rest((plan for _, plan in self._in_flight), self._scheduler, taken)


def _check_sizes(sizes: Sizes, dims: Mapping[str, int]) -> None:
    """Refuse sizes for which the run's slots and caches were not made."""
    for name in ("rows", "page"):
        if name in dims and getattr(sizes, name) != dims[name]:
            raise BindError(
                f"the engine has {name}={getattr(sizes, name)}, the run {dims[name]}: they must agree"
            )
    for name in ("batch", "packed", "chunk", "blocks", "capacity"):
        if getattr(sizes, name) > dims.get(name, getattr(sizes, name)):
            raise BindError(
                f"the engine has {name}={getattr(sizes, name)}, and the run has room for {dims[name]}: "
                "give the engine the executor's sizes, or smaller ones"
            )
