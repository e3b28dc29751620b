"""Where each row of a forward pass stands, and which cache slots it reads and writes.

Everything follows from tensors of fixed shape: no value is read back, so a pass can be compiled ahead of
time. What several layers share is computed once per pass.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from deepseek.model.primitives import split
from deepseek.state import Caches

T = TypeVar("T")


@dataclass(frozen=True)
class Ring:
    """How a pass reads and writes rings of one size."""

    held: Tensor
    """[B, size] position that each slot holds before the pass, negative where it was never written."""
    write_row: Tensor
    """[B, R] cache row to write each new row to; scrap for padding and for rows the same pass overwrites."""
    write_slot: Tensor
    """[B, R] slot to write each new row to."""


@dataclass(frozen=True)
class Windows:
    """Compression windows that a pass may close: M = (R + rate - 1) // rate per request."""

    index: Tensor
    """[B, M] window number."""
    write_page: Tensor
    """[B, M] page of the new entry; scrap where the window stays open or the request has no such page."""
    write_slot: Tensor
    """[B, M] slot of the new entry."""


@dataclass(frozen=True)
class Entries:
    """Compressed entries of requests, as many as their tables have room for: E = blocks * per."""

    pages: Tensor
    """[B, blocks] page of each block."""
    per: int
    """Entries of a page."""
    written: Tensor
    """[B, E] entries that exist once the pass has closed its windows."""
    visible: Tensor
    """[B, R, E] entries that each row may see: those whose window it closes or that closed before.

    Padding sees no more than the last valid row, so that it stays finite."""

    def read(self, cache: Tensor) -> Tensor:
        """All entries of `cache [pages, per, d]`: `[B, E, d]`, zero where there is none."""
        return cache[self.pages].flatten(1, 2).masked_fill(~self.written.unsqueeze(-1), 0)

    def pick(self, cache: Tensor, picks: Tensor, seen: Tensor) -> Tensor:
        """Entries `picks [B, R, K]` of `cache [pages, per, d]`: `[B, R, K, d]`, zero where not `seen [B, R, K]`."""
        pages = self.pages.unsqueeze(1).expand(-1, picks.shape[1], -1).gather(2, picks // self.per)
        return cache[pages, picks % self.per].masked_fill(~seen.unsqueeze(-1), 0)


@dataclass(frozen=True)
class Spans:
    """Where each request's rows of a pass stand: row i at position `start + i`, of which the first `length` count."""

    start: Tensor
    """[B] int64, absolute position of row 0."""
    rows: Tensor
    """[B] int64, the request's cache row, distinct, or the scrap row for an unused place."""
    length: Tensor
    """[B] int64, rows that count, from 0; the rest is padding and leaves no visible trace."""
    pages: Tensor
    """[B, blocks] int64, the page of each block of positions, or the scrap page where the request has none yet.
    No page stands in the tables of two requests. Where `length` is 0 it may be any."""

    def last(self, values: Tensor) -> Tensor:
        """`values [B, R, ...]` at each request's last row that counts: `[B, ...]`."""
        return values[torch.arange(values.shape[0], device=values.device), (self.length - 1).clamp(min=0)]


class Step:
    """Positions of a pass over B requests with `width` (R) rows each."""

    def __init__(self, spans: Spans, width: int, caches: Caches) -> None:
        if spans.pages.shape[1] != caches.blocks:
            raise ValueError(
                f"a table of {spans.pages.shape[1]} pages per request for caches of {caches.blocks} blocks"
            )
        self.start = spans.start.unsqueeze(1)
        self.rows = spans.rows
        self.pages = spans.pages
        self.length = spans.length.unsqueeze(1)
        self.width = width
        self.offset = torch.arange(width, device=self.start.device)
        self.t = self.start + self.offset
        """[B, R] absolute positions."""
        self.valid = self.offset < self.length
        """[B, R] rows that are not padding."""
        self.end = self.start + self.length
        """[B, 1] first position after the pass."""
        self._scrap, self._scrap_page = caches.scrap, caches.scrap_page
        self._shared: dict[tuple[str, int, int], object] = {}

    def ring(self, size: int) -> Ring:
        """Reads and writes of a ring of `size` slots."""
        return self._once("ring", size, 0, lambda: self._ring(size))

    def window_held(self, size: int, window: int) -> Tensor:
        """[B, size] slots of a ring that are in the window of some row. What the others hold belongs to nobody: it
        was never written, is too old, or a rejected row of an earlier step wrote it."""
        return self._once("window", size, window, lambda: self._window_held(size, window))

    def window_mask(self, size: int, window: int) -> Tensor:
        """[B, R, size + R] keys in each row's window: a ring's old content, then the new rows."""
        return self._once("mask", size, window, lambda: self._window_mask(size, window))

    def windows(self, rate: int, per: int) -> Windows:
        """Windows of `rate` tokens that this pass may close, where a page has `per` entries."""
        return self._once("windows", rate, per, lambda: self._windows(rate, per))

    def entries(self, rate: int, per: int) -> Entries:
        """Entries of `rate` tokens, where a page has `per` of them."""
        return self._once("entries", rate, per, lambda: self._entries(rate, per))

    def raw_index(self, rate: int, back: int, size: int) -> Tensor:
        """[B, M, rate] places of the rows of each closing window (or of `back` windows before it) in
        a raw ring of `size` slots followed by the new rows. Places before position 0 are arbitrary."""
        return self._once(f"raw{back}", rate, size, lambda: self._raw_index(rate, back, size))

    def _once(self, what: str, a: int, b: int, make: Callable[[], T]) -> T:
        key = (what, a, b)
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]  # type: ignore[return-value]

    def _ring(self, size: int) -> Ring:
        slots = torch.arange(size, device=self.t.device)
        last = self.start - 1
        held = last - (last - slots) % size
        kept = self.valid & (self.offset >= self.length - size)
        return Ring(held, torch.where(kept, self.rows.unsqueeze(1), self._scrap), self.t % size)

    def _window_held(self, size: int, window: int) -> Tensor:
        held = self.ring(size).held
        return (held >= 0) & (held > self.start - window)

    def _window_mask(self, size: int, window: int) -> Tensor:
        oldest = (self.t - window).unsqueeze(-1)
        old = self.window_held(size, window).unsqueeze(1) & (self.ring(size).held.unsqueeze(1) > oldest)
        t = self.t.unsqueeze(1)
        new = (t > oldest) & (t <= self.t.unsqueeze(-1))  # padding stands last: no valid row sees it
        return torch.cat((old, new), -1)

    def _windows(self, rate: int, per: int) -> Windows:
        count = (self.width + rate - 1) // rate
        index = self.start // rate + torch.arange(count, device=self.t.device)
        block, blocks = index // per, self.pages.shape[1]
        closed = ((index + 1) * rate <= self.end) & (block < blocks)
        page = self.pages.gather(1, block.clamp(max=blocks - 1))
        return Windows(index, torch.where(closed, page, self._scrap_page), index % per)

    def _entries(self, rate: int, per: int) -> Entries:
        there = (self.pages != self._scrap_page).unsqueeze(-1).expand(-1, -1, per).flatten(1)
        index = torch.arange(there.shape[1], device=self.t.device)
        limit = torch.minimum(self.t + 1, self.end) // rate
        written = there & (index < self.end // rate)
        return Entries(self.pages, per, written, written.unsqueeze(1) & (index < limit.unsqueeze(-1)))

    def _raw_index(self, rate: int, back: int, size: int) -> Tensor:
        count = (self.width + rate - 1) // rate
        first = (self.start // rate - back) * rate
        q = first + torch.arange(count * rate, device=self.t.device)
        new = (q - self.start).clamp(max=self.width - 1) + size
        return split(torch.where(q < self.start, q % size, new), count, rate)


def write(cache: Tensor, row: Tensor, slot: Tensor, values: Tensor) -> None:
    """Store `values [B, n, ...]` at `cache[row, slot]`, row (or page) and slot `[B, n]`."""
    cache.index_put_((row, slot), values.to(cache.dtype))
