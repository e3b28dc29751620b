"""A request as the engine knows it, and its stay in a row. Both are told apart by identity, never by id."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from deepseek.continuation import Continuation
from deepseek.requests import Request, RequestError
from deepseek.steps import Row


@dataclass(eq=False)
class Entry:
    """One request from `add` to its last event; it may stay in several rows, one after the other."""

    id: str
    number: int
    """In order of arrival: the lower, the older."""
    request: Request
    refusal: RequestError | None = None
    """Why it cannot be run."""
    output: Continuation | None = None
    """Made when the engine has found that the request can be run."""
    tokens: list[int] = field(default_factory=list)
    """What has come."""
    stay: Tenancy | None = None
    aborted: bool = False
    """That it is to end; guarded by the inbox."""
    over: bool = False

    @property
    def total(self) -> int:
        """Most positions of prompt and output together."""
        return len(self.request.prompt) + self.request.max_tokens

    @property
    def so_far(self) -> tuple[int, ...]:
        """The prompt and the tokens that have come."""
        return (*self.request.prompt, *self.tokens)


@dataclass(eq=False)
class Tenancy:
    """A request's stay in a row, with the pages that it has. What the device has committed is known only in bounds:
    a decode step in flight adds 1 to `rows` tokens."""

    entry: Entry
    row: Row
    prompt: tuple[int, ...]
    """With the tokens of earlier stays."""
    pages: list[int]
    prefilled: int = 0
    """Prompt tokens submitted."""
    confirmed: bool = False
    """The first token has come back: only now may decode steps be planned."""
    decoding: int = 0
    """Decode steps in flight."""
    tables: deque[int] = field(default_factory=deque)
    """For each step in flight that touches the row, in order, how many pages its table has."""
    last: int = 0
    """When a decode step was last planned."""
    over: bool = False
    unproved: bool = False
    """A device call on the row was not proved to have finished."""

    @property
    def known(self) -> int:
        """Tokens known: the last of them has not been run through the model."""
        return len(self.entry.request.prompt) + len(self.entry.tokens)

    @property
    def ends_surely(self) -> bool:
        """Steps in flight bring the last token, whatever they commit."""
        entry = self.entry
        coming = self.decoding + (not self.confirmed and self.prefilled == len(self.prompt))
        return len(entry.tokens) + coming >= entry.request.max_tokens

    def furthest(self, rows: int) -> int:
        """Positions that one more decode step may write to, after all that are in flight."""
        return min(self.known - 1 + (self.decoding + 1) * rows, self.entry.total)

    @property
    def written(self) -> int:
        """Positions that have to be kept, beside those that steps in flight have in their tables."""
        return self.known - 1 if self.confirmed else len(self.prompt)
