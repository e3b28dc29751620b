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
    write_row: Tensor
    """[B, M] cache row of the new entry; scrap where the window stays open."""
    write_slot: Tensor
    """[B, M] slot of the new entry."""


class Step:
    """Positions of a pass over B requests with R rows each, of which the first `length` count.

    Args:
        start: [B] int64, absolute position of each request's row 0.
        rows: [B] int64, each request's cache row.
        length: [B] int64, valid rows, 0..R.
        width: R.
        scrap: cache row for writes that must not be seen.
    """

    def __init__(self, start: Tensor, rows: Tensor, length: Tensor, width: int, scrap: int) -> None:
        self.start = start.unsqueeze(1)
        self.rows = rows
        self.length = length.unsqueeze(1)
        self.width = width
        self.offset = torch.arange(width, device=start.device)
        self.t = self.start + self.offset
        """[B, R] absolute positions."""
        self.valid = self.offset < self.length
        """[B, R] rows that are not padding."""
        self.end = self.start + self.length
        """[B, 1] first position after the pass."""
        self._scrap = scrap
        self._shared: dict[tuple[str, int, int], object] = {}

    def ring(self, size: int) -> Ring:
        """Reads and writes of a ring of `size` slots."""
        return self._once("ring", size, 0, lambda: self._ring(size))

    def window_mask(self, size: int, window: int) -> Tensor:
        """[B, R, size + R] keys in each row's window: a ring's old content, then the new rows."""
        return self._once("mask", size, window, lambda: self._window_mask(size, window))

    def windows(self, rate: int, entries: int) -> Windows:
        """Windows of `rate` tokens that this pass may close, with room for `entries` of them per request."""
        return self._once("windows", rate, entries, lambda: self._windows(rate, entries))

    def entries_written(self, rate: int, entries: int) -> Tensor:
        """[B, entries] entries that exist once the pass has closed its windows."""
        return self._once("written", rate, entries, lambda: self._below(self.end // rate, entries))

    def entries_visible(self, rate: int, entries: int) -> Tensor:
        """[B, R, entries] entries that each row may see: those whose window it closes or that closed before.

        Padding sees no more than the last valid row, so that it stays finite."""
        limit = (torch.minimum(self.t + 1, self.end) // rate).unsqueeze(-1)
        return self._once("visible", rate, entries, lambda: self._below(limit, entries))

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

    def _window_mask(self, size: int, window: int) -> Tensor:
        oldest = (self.t - window).unsqueeze(-1)
        held = self.ring(size).held.unsqueeze(1)
        old = (held >= 0) & (held > oldest)
        t = self.t.unsqueeze(1)
        new = (t > oldest) & (t <= self.t.unsqueeze(-1))  # padding stands last: no valid row sees it
        return torch.cat((old, new), -1)

    def _windows(self, rate: int, entries: int) -> Windows:
        count = (self.width + rate - 1) // rate
        index = self.start // rate + torch.arange(count, device=self.t.device)
        closed = ((index + 1) * rate <= self.end) & (index < entries)
        row = torch.where(closed, self.rows.unsqueeze(1), self._scrap)
        return Windows(index, row, index.clamp(max=entries - 1))

    def _below(self, limit: Tensor, entries: int) -> Tensor:
        return torch.arange(entries, device=self.t.device) < limit

    def _raw_index(self, rate: int, back: int, size: int) -> Tensor:
        count = (self.width + rate - 1) // rate
        first = (self.start // rate - back) * rate
        q = first + torch.arange(count * rate, device=self.t.device)
        new = (q - self.start).clamp(max=self.width - 1) + size
        return split(torch.where(q < self.start, q % size, new), count, rate)


def write(cache: Tensor, row: Tensor, slot: Tensor, values: Tensor) -> None:
    """Store `values [B, n, ...]` at `cache[row, slot]`, row and slot `[B, n]`."""
    cache.index_put_((row, slot), values.to(cache.dtype))
