"""Requests in, tokens out.

The engine plans steps ahead of their results: while one step runs, the next ones are already submitted, so a request
that ends (end of sequence, length) may have steps in flight. They run on and what they yield for it is dropped. Rows
are retired on the device lane behind every step that may touch them, and are free once that step is through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from deepseek.steps import GREEDY, Decode, Place, Prefill, Retire, Row, Sampled, Sampling
from graph.errors import BindError, StepError
from graph.runtime import Runtime

Finish = Literal["stop", "length", "error"]


@dataclass(frozen=True)
class Request:
    """A prompt of token ids to continue by at most `max_tokens`; ends before that at any of `stop_ids`."""

    prompt: tuple[int, ...]
    max_tokens: int
    sampling: Sampling = GREEDY
    stop_ids: frozenset[int] = frozenset()


class Event(NamedTuple):
    """Something that happened to request `request` (its index): a token, an end, or both."""

    request: int
    token: int | None
    finish: Finish | None = None
    error: StepError | None = None


@dataclass
class _Active:
    """A request that has a row."""

    index: int
    request: Request
    row: Row
    prefilled: int = 0
    """Prompt tokens submitted."""
    confirmed: bool = False
    """The last chunk's token has come back: only now may decode steps be planned."""
    planned: int = 0
    """Output tokens that submitted steps will yield."""
    yielded: int = 0
    over: bool = False


@dataclass
class _InFlight:
    ticket: Future[tuple[Sampled, ...] | None]
    command: Decode | Prefill | Retire
    touched: tuple[_Active, ...] = field(default=())


class RequestError(ValueError):
    """A request cannot be run as it is; says why and what to change."""


class Engine:
    """Runs requests through a run whose executor is that of `deepseek.pipeline`; used by one thread."""

    def __init__(self, run: Runtime, *, batch: int, chunk: int, context: int) -> None:
        if run.rows is None:
            raise BindError(f"`{run.topology_name}` keeps no request-keyed rows, which the engine needs")
        self._run, self._rows = run, run.rows
        self._batch, self._chunk, self._context = batch, chunk, context
        self._waiting: deque[tuple[int, Request]] = deque()
        self._active: dict[Row, _Active] = {}
        self._retiring: list[Row] = []
        self._in_flight: deque[_InFlight] = deque()

    def check(self, request: Request) -> None:
        """Raise `RequestError` for an empty prompt, or one that does not fit the context."""
        if not request.prompt:
            raise RequestError("the prompt is empty: give at least one token")
        if request.max_tokens < 1:
            raise RequestError(f"{request.max_tokens} tokens are asked for: ask for at least one")
        longest = len(request.prompt) + request.max_tokens
        if longest > self._context:
            raise RequestError(
                f"a prompt of {len(request.prompt)} tokens and {request.max_tokens} new ones do not fit the context "
                f"of {self._context}: shorten one of them, or raise the context"
            )

    def generate(self, requests: Sequence[Request]) -> Iterator[Event]:
        """Events as they come, each request's in order; every request ends with an event that has `finish`."""
        for request in requests:
            self.check(request)
        self._waiting.extend(enumerate(requests))
        while True:
            self._admit()
            while len(self._in_flight) < self._run.capacity and self._submit_next():
                pass
            if not self._in_flight:
                return
            yield from self._take(self._in_flight.popleft())

    def _admit(self) -> None:
        while self._waiting:
            reserved = self._rows.reserve()
            if reserved is None:
                return
            index, request = self._waiting.popleft()
            row = Row(*reserved)
            self._active[row] = _Active(index, request, row)

    def _submit_next(self) -> bool:
        """Submit the most urgent step: rows to retire, then prompts, then the next tokens; False if there is none."""
        if self._retiring:
            rows, self._retiring = tuple(self._retiring[: self._batch]), self._retiring[self._batch :]
            return self._submit("retire", Retire(rows), rows, ())
        for active in self._active.values():
            if not active.over and active.prefilled < len(active.request.prompt):
                return self._submit_chunk(active)
        ready = [
            a
            for a in self._active.values()
            if a.confirmed and not a.over and a.planned < a.request.max_tokens
        ]
        ready.sort(
            key=lambda active: active.planned
        )  # with more rows than places, those furthest behind go first
        return bool(ready) and self._submit_decode(ready[: self._batch])

    def _submit_chunk(self, active: _Active) -> bool:
        prompt, start = active.request.prompt, active.prefilled
        tokens = prompt[start : start + self._chunk]
        active.prefilled += len(tokens)
        last = active.prefilled == len(prompt)
        active.planned += last
        command = Prefill(active.row, tokens, start, last, active.request.sampling)
        return self._submit("prefill", command, (active.row,), (active,))

    def _submit_decode(self, ready: list[_Active]) -> bool:
        places = []
        for active in ready:
            position = len(active.request.prompt) + active.planned - 1
            places.append(Place(active.row, position, active.request.sampling))
            active.planned += 1
        rows = tuple(active.row for active in ready)
        return self._submit("decode", Decode(tuple(places)), rows, tuple(ready))

    def _submit(
        self,
        route: str,
        command: Decode | Prefill | Retire,
        rows: tuple[Row, ...],
        touched: tuple[_Active, ...],
    ) -> bool:
        ticket = self._run.submit(command, route=route, rows=rows)
        self._in_flight.append(_InFlight(ticket, command, touched))
        return True

    def _take(self, step: _InFlight) -> Iterator[Event]:
        """Wait for the oldest step and tell what came of it."""
        try:
            sampled = step.ticket.result()
        except StepError as error:
            yield from self._fail(step, error)
            sampled = None
        if isinstance(step.command, Retire):
            for row in step.command.rows:
                self._rows.free(*row)
        for row, token in sampled or ():
            active = self._active.get(row)
            if active is not None and not active.over:
                yield self._advance(active, token)

    def _advance(self, active: _Active, token: int) -> Event:
        active.confirmed = True
        active.yielded += 1
        finish: Finish | None = None
        if token in active.request.stop_ids:
            finish = "stop"
        elif active.yielded == active.request.max_tokens:
            finish = "length"
        if finish is not None:
            self._end(active)
        return Event(active.index, token, finish)

    def _fail(self, step: _InFlight, error: StepError) -> Iterator[Event]:
        """A failed step fails its requests: neither their positions nor their device state can be trusted."""
        for active in step.touched:
            if not active.over:
                self._end(active)
                yield Event(active.index, None, "error", error)

    def _end(self, active: _Active) -> None:
        active.over = True
        del self._active[active.row]
        self._retiring.append(active.row)
