"""Rows of request-keyed state, with a generation so that nobody takes a row's next owner for its last."""

from __future__ import annotations

import threading
from collections import deque

from graph.node import Rows


class RequestRows:
    """A host-side allocator of `capacity` rows; safe to call from any thread.

    Reserving a row bumps its generation. The device compares generations, so a step that was prepared for an
    earlier owner of a row writes nothing.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._free = deque(range(capacity))
        self._generation = [0] * capacity
        self._live = [False] * capacity
        self._lock = threading.Lock()

    def reserve(self) -> tuple[int, int] | None:
        """(row, generation) of a row that is now the caller's, or None where all are taken."""
        with self._lock:
            if not self._free:
                return None
            row = self._free.popleft()
            self._generation[row] += 1
            self._live[row] = True
            return row, self._generation[row]

    def free(self, row: int, generation: int) -> None:
        """Give the row back, once the step that retired it is through. An earlier pair changes nothing."""
        with self._lock:
            self._check_range(row)
            if self._live[row] and self._generation[row] == generation:
                self._live[row] = False
                self._free.append(row)

    def check(self, rows: Rows) -> None:
        """Raise `ValueError` for a row that is out of range or a generation that was never handed out."""
        for row, generation in rows:
            self._check_range(row)
            if not 1 <= generation <= self._generation[row]:
                raise ValueError(f"row {row} has no generation {generation}; rows come from `reserve()`")

    def _check_range(self, row: int) -> None:
        if not 0 <= row < self.capacity:
            raise ValueError(f"row {row} is not one of the {self.capacity} rows (0 to {self.capacity - 1})")

    @property
    def taken(self) -> int:
        """Rows that are reserved and not yet free again."""
        with self._lock:
            return sum(self._live)
