"""Pages of compressed keys, handed out by number. Each is at most one request's at any time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from graph.errors import InternalError


class Pages:
    """A host-side allocator of pages 0 to `count - 1`; used by one thread.

    Pages that have not been used for longest are handed out first.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        """Pages that can be had at all: withdrawn ones are not among them."""
        self._free = deque(range(count))
        self._taken: set[int] = set()
        self.most = 0
        """Most pages that were taken at one time."""

    @property
    def free(self) -> int:
        """How many pages nobody has."""
        return len(self._free)

    @property
    def taken(self) -> tuple[int, ...]:
        """Pages that somebody has, in order."""
        return tuple(sorted(self._taken))

    def take(self, count: int) -> list[int] | None:
        """`count` pages, or None where fewer are free; then none is taken."""
        if count > len(self._free):
            return None
        pages = [self._free.popleft() for _ in range(count)]
        self._taken.update(pages)
        self.most = max(self.most, len(self._taken))
        return pages

    def give_back(self, pages: Sequence[int]) -> None:
        """Raises `InternalError` for a page that nobody has."""
        self._let_go(pages)
        self._free.extend(pages)

    def withdraw(self, pages: Sequence[int]) -> None:
        """Keep taken pages out of use for good: something may still write to them."""
        self._let_go(pages)
        self.count -= len(pages)

    def _let_go(self, pages: Sequence[int]) -> None:
        given = set(pages)
        if len(given) < len(pages) or not given <= self._taken:
            raise InternalError(
                f"pages {sorted(pages)} are given back, of which not all are taken, or not once"
            )
        self._taken -= given
