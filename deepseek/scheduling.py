"""Which step comes next: rows to retire, prompts, the next tokens, in which order, and who has to give way.

Requests are admitted in the order in which they arrived. Where requests are short of pages nobody is admitted, and if
nothing else can be done and no pages are on their way, the youngest is preempted: its row is retired, and it goes back
to the head of the queue with its tokens so far as prompt. So the oldest always comes to its end, and with it everyone.
"""

from __future__ import annotations

from itertools import count, islice

from deepseek.paging import Paging
from deepseek.plan import Plan
from deepseek.requests import RequestError
from deepseek.sizes import Sizes
from deepseek.stats import Stats
from deepseek.steps import Batch, Chunk, Malformed, Place, Retire, Row
from deepseek.tenancy import Entry, Tenancy
from graph.rows import RequestRows


class Scheduler:
    """Plans steps ahead of their results; each plan that `next` gives is submitted, in order, and later `through`."""

    def __init__(self, rows: RequestRows, sizes: Sizes, stats: Stats, *, mixes: bool) -> None:
        self._rows, self._sizes, self._stats, self._mixes = rows, sizes, stats, mixes
        self._paging = Paging(sizes.pages, sizes.page, sizes.rows)
        self.waiting: dict[int, Entry] = {}
        """By number, oldest first; all are younger than those that are active."""
        self.active: dict[Row, Tenancy] = {}
        """Requests that have a row, and are not over."""
        self.leaving: dict[Row, Tenancy] = {}
        """Stays that are over, whose row and pages are not free yet."""
        self._unretired: list[Tenancy] = []
        """Those of them that no step retires yet."""
        self._prompts: dict[Row, Tenancy] = {}
        """Stays whose prompt is not wholly submitted, oldest first."""
        self._turns = count(1)
        self._prefilled_last = False

    @property
    def pages_taken(self) -> tuple[int, ...]:
        return self._paging.taken

    def add(self, entry: Entry) -> None:
        """The entry is younger than all before it."""
        self.waiting[entry.number] = entry

    def drop(self, entry: Entry) -> None:
        """The request is over: nothing more is planned for it."""
        self.waiting.pop(entry.number, None)
        if entry.stay is not None:
            self._end(entry.stay)

    def next(self) -> Plan | None:
        """The most urgent step; None where there is nothing that can be done before a result comes."""
        if self._unretired:
            return self._retire()
        self._admit()
        plan = self._refuse() or self._batch_of_all()
        self._stats.pages_most = self._paging.most
        if plan is None and self._preempt():
            return self._retire()
        return plan

    def through(self, plan: Plan) -> None:
        """The step is through on every lane."""
        for stay in (*plan.chunks, *plan.places):
            stay.tables.popleft()
        for stay in plan.places:
            stay.decoding -= 1
        for stay in plan.retired:
            self._free(stay)

    def forfeit(self) -> None:
        """The run has ended, and nothing touches rows or pages any more: let go of all."""
        self.waiting.clear()
        for stay in [*self.active.values()]:
            self._end(stay)
        self._unretired.clear()
        for stay in [*self.leaving.values()]:
            self._free(stay)

    # -- rows ------------------------------------------------------------------------------------------------

    def _admit(self) -> None:
        while self.waiting and self._paging.short is None:
            entry = next(iter(self.waiting.values()))
            if entry.refusal is None:
                entry.refusal = self._impossible(entry)
            if entry.refusal is not None or not self._enter(entry):
                return
            del self.waiting[entry.number]

    def _enter(self, entry: Entry) -> bool:
        """Give the request a row and the pages to begin with, if both can be had."""
        pages = self._paging.admit(entry)
        if pages is None:
            return False
        reserved = self._rows.reserve()
        if reserved is None:
            self._paging.give_back(pages)
            return False
        stay = Tenancy(entry, Row(*reserved), entry.so_far, pages)
        entry.stay = self.active[stay.row] = self._prompts[stay.row] = stay
        return True

    def _impossible(self, entry: Entry) -> RequestError | None:
        """Why the request cannot be run any more, where rows or pages have been withdrawn."""
        if self._stats.withdrawn_rows == self._rows.capacity:
            return RequestError("after failed steps no request row is left in use: start a new run")
        if self._paging.blocks(entry.total) > self._paging.count:
            return RequestError(
                f"{entry.total} positions do not fit the {self._paging.count} of {self._sizes.pages} pages that are "
                "left in use after failed steps: ask for less, or start a new run"
            )
        return None

    def _end(self, stay: Tenancy) -> None:
        """The row is to be retired behind all that has been planned for it."""
        stay.over, stay.entry.stay = True, None
        del self.active[stay.row]
        self._prompts.pop(stay.row, None)
        self.leaving[stay.row] = stay
        self._unretired.append(stay)

    def _retire(self) -> Plan:
        batch = self._sizes.batch
        retired, self._unretired = tuple(self._unretired[:batch]), self._unretired[batch:]
        return Plan(Retire(tuple(stay.row for stay in retired)), retired=retired)

    def _free(self, stay: Tenancy) -> None:
        del self.leaving[stay.row]
        self._paging.free(stay)
        if stay.unproved:
            self._stats.withdrawn_rows += 1
        else:
            self._rows.free(*stay.row)

    def _preempt(self) -> bool:
        short, active = self._paging.short, self.active.values()
        if short is None or self.leaving or any(stay.ends_surely for stay in active):
            return False
        youngest = max(active, key=lambda stay: stay.entry.number)
        if youngest is short and any(stay.tables for stay in active):
            return False
        self._end(youngest)
        self.waiting = {youngest.entry.number: youngest.entry, **self.waiting}
        self._stats.preemptions += 1
        return True

    # -- prompts and tokens ----------------------------------------------------------------------------------

    def _refuse(self) -> Plan | None:
        """The oldest that waits, where it cannot be run and every prompt before it has been submitted."""
        if self._prompts or not self.waiting:
            return None
        entry = next(iter(self.waiting.values()))
        if entry.refusal is None:
            return None
        del self.waiting[entry.number]
        return Plan(Malformed(entry.refusal), refused=entry)

    def _batch_of_all(self) -> Plan | None:
        """Prompts and next tokens in one step where there is a route for it; else in turn."""
        if self._mixes:
            return self._batch(self._places(), self._chunks())
        if self._prompts and not self._prefilled_last:
            return self._batch({}, self._chunks())
        return self._batch(self._places(), {}) or self._batch({}, self._chunks())

    def _batch(self, places: dict[Tenancy, Place], chunks: dict[Tenancy, Chunk]) -> Plan | None:
        if not places and not chunks:
            return None
        self._prefilled_last = not places
        return Plan(Batch(tuple(places.values()), tuple(chunks.values())), tuple(places), tuple(chunks))

    def _places(self) -> dict[Tenancy, Place]:
        """Those who need another decode step for sure and have the pages for it; who has waited longest goes first."""
        ready = [stay for stay in self.active.values() if stay.confirmed and not stay.ends_surely]
        ready.sort(key=lambda stay: (stay.last, stay.entry.number))
        places: dict[Tenancy, Place] = {}
        for stay in ready:
            if len(places) < self._sizes.batch and self._paging.grow(stay, self.active.values()):
                places[stay] = self._place(stay)
        return places

    def _place(self, stay: Tenancy) -> Place:
        pages = tuple(stay.pages[: self._paging.furthest(stay)])
        stay.tables.append(len(pages))
        stay.decoding += 1
        stay.last = next(self._turns)
        return Place(stay.row, pages)

    def _chunks(self) -> dict[Tenancy, Chunk]:
        oldest = tuple(islice(self._prompts.values(), self._sizes.packed))
        return {stay: self._chunk(stay) for stay in oldest}

    def _chunk(self, stay: Tenancy) -> Chunk:
        start, prompt = stay.prefilled, stay.prompt
        tokens = prompt[start : start + self._sizes.chunk]
        end = stay.prefilled = start + len(tokens)
        pages = tuple(stay.pages[: self._paging.blocks(end)])
        stay.tables.append(len(pages))
        following = prompt[end] if end < len(prompt) else None
        if following is None:
            del self._prompts[stay.row]
        return Chunk(stay.row, tokens, start, following, stay.entry.request.sampling, pages)
