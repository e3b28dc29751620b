"""Who gets pages, and when they come back.

A request has the pages for all that its steps in flight may write. Age decides: while an older request is short of
pages, a younger one gets no more. What a request turns out not to need is taken from it only where another is short,
and only behind the tables of its steps in flight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from deepseek.pages import Pages
from deepseek.tenancy import Entry, Tenancy


class Paging:
    """The pages of all requests; a page stands for `page` positions, a decode step has `rows` tokens a request."""

    def __init__(self, count: int, page: int, rows: int) -> None:
        self._pages = Pages(count)
        self._page, self._rows = page, rows
        self._short: Tenancy | None = None
        """The oldest request that could not get the pages for its next step."""

    @property
    def taken(self) -> tuple[int, ...]:
        return self._pages.taken

    @property
    def most(self) -> int:
        """Most pages in use at one time."""
        return self._pages.most

    @property
    def count(self) -> int:
        """Pages that can be had at all."""
        return self._pages.count

    @property
    def short(self) -> Tenancy | None:
        """The oldest request that waits for pages."""
        if self._short is not None and (self._short.over or self._short.ends_surely):
            self._short = None
        return self._short

    def blocks(self, positions: int) -> int:
        """Pages for so many positions."""
        return math.ceil(positions / self._page)

    def admit(self, entry: Entry) -> list[int] | None:
        """Pages for what the request has so far and a first decode step, if all can be had."""
        return self._pages.take(self.blocks(min(len(entry.so_far) + self._rows, entry.total)))

    def furthest(self, stay: Tenancy) -> int:
        """Pages that one more decode step needs, wherever those in flight may bring the request."""
        return self.blocks(stay.furthest(self._rows))

    def grow(self, stay: Tenancy, active: Iterable[Tenancy]) -> bool:
        """See that the request has the pages for one more decode step; where it has not, it is short of them."""
        missing, short = self.furthest(stay) - len(stay.pages), self.short
        if missing > 0:
            if short is not None and short.entry.number < stay.entry.number:
                return False
            if missing > self._pages.free:
                self._trim(other for other in active if other is not stay)
            pages = self._pages.take(missing)
            if pages is None:
                self._short = stay
                return False
            stay.pages += pages
        if stay is short:
            self._short = None
        return True

    def give_back(self, pages: Sequence[int]) -> None:
        self._pages.give_back(pages)

    def free(self, stay: Tenancy) -> None:
        """The stay is over, and no step has its pages any more, unless a device call was not proved to have ended."""
        if stay.unproved:
            self._pages.withdraw(stay.pages)
        else:
            self._pages.give_back(stay.pages)

    def _trim(self, stays: Iterable[Tenancy]) -> None:
        """Give back the pages behind what requests have written and may yet write by steps in flight."""
        for stay in stays:
            kept = max(self.blocks(stay.written), *stay.tables, 0)
            self._pages.give_back(stay.pages[kept:])
            del stay.pages[kept:]
