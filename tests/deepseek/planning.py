"""Drives a scheduler without a run: plans wait in a queue and are carried out on the scripted device, in order."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

from deepseek.continuation import Continuation
from deepseek.plan import Plan
from deepseek.requests import Request
from deepseek.scheduling import Scheduler
from deepseek.sizes import Sizes
from deepseek.stats import Stats
from deepseek.steps import Batch, Malformed, Retire, Sampled
from deepseek.tenancy import Entry, Tenancy
from graph.rows import RequestRows
from tests.deepseek.scripted import Device


class Planning:
    """A scheduler, its steps in flight, and a device that carries them out when they are taken."""

    def __init__(self, sizes: Sizes, *, mixes: bool = True) -> None:
        self.sizes, self.stats, self.device = sizes, Stats(), Device(sizes)
        self.rows = RequestRows(sizes.capacity)
        self.scheduler = Scheduler(self.rows, sizes, self.stats, mixes=mixes)
        self.in_flight: deque[Plan] = deque()
        self.entries: list[Entry] = []

    def add(self, request: Request) -> Entry:
        entry = Entry(str(len(self.entries)), len(self.entries), request)
        entry.output = Continuation(request, None)
        self.entries.append(entry)
        self.scheduler.add(entry)
        return entry

    def plan(self) -> Plan | None:
        """The next step, which is from now on in flight."""
        plan = self.scheduler.next()
        if plan is not None:
            self._check(plan)
            self.in_flight.append(plan)
        return plan

    def take(self) -> Plan:
        """Carry out the oldest step in flight, and note its result as the engine does."""
        plan = self.in_flight.popleft()
        sampled = self._carry_out(plan)
        self.scheduler.through(plan)
        live = {stay.row: stay for stay in plan.touched if not stay.over}
        for stay in plan.first_tokens:
            stay.confirmed = True
        for row, tokens in sampled:
            if row in live:
                self._advance(live[row].entry, tokens)
        return plan

    def run(self, depth: int) -> None:
        """Plan up to `depth` steps ahead until all is done."""
        while True:
            while len(self.in_flight) < depth and self.plan() is not None:
                pass
            if not self.in_flight:
                return
            self.take()

    def _carry_out(self, plan: Plan) -> Sequence[Sampled]:
        command = plan.command
        assert not isinstance(command, Malformed)
        if isinstance(command, Retire):
            self.device.retire(command.rows)
            return ()
        found = [*map(self.device.prefill, command.chunks), *map(self.device.decode, command.places)]
        return [sampled for sampled in found if sampled is not None]

    def _advance(self, entry: Entry, tokens: tuple[int, ...]) -> None:
        assert entry.output is not None
        for token in tokens:
            entry.tokens.append(token)
            if entry.output.push(token)[1] is not None:
                self.over(entry)
                return

    def over(self, entry: Entry) -> None:
        entry.over = True
        self.scheduler.drop(entry)

    def _check(self, plan: Plan) -> None:
        """A step is as large as it may be, and has no row and no page that a step in flight has for somebody else."""
        if isinstance(plan.command, Batch):
            if plan.places:
                self.sizes.check_places(plan.command.places)
            if plan.chunks:
                self.sizes.check_chunks(plan.command.chunks)
        owners: dict[int, Tenancy] = {}
        rows: dict[int, Tenancy] = {}
        for other in (*self.in_flight, plan):
            for stay in other.touched:
                assert rows.setdefault(stay.row.row, stay) is stay, (
                    "a row is somebody else's while a step has it"
                )
            if isinstance(other.command, Batch):
                pairs = [*zip(other.places, other.command.places, strict=True)]
                tables = [(stay, place.pages) for stay, place in pairs]
                tables += [(s, c.pages) for s, c in zip(other.chunks, other.command.chunks, strict=True)]
                for stay, pages in tables:
                    for page in pages:
                        assert owners.setdefault(page, stay) is stay, (
                            f"page {page} is in two requests' tables"
                        )


def some_requests(source: random.Random, sizes: Sizes, count: int) -> list[Request]:
    """Requests of random lengths, each of which fits the sizes alone."""
    most = min(sizes.context, sizes.pages * sizes.page)
    found = []
    for _ in range(count):
        prompt = source.randint(1, most - 1)
        tokens = source.randint(1, most - prompt)
        ids = tuple(source.randrange(sizes.vocab_size) for _ in range(prompt))
        stops = frozenset({source.randrange(sizes.vocab_size)}) if source.random() < 0.5 else frozenset()
        found.append(Request(ids, tokens, stop_ids=stops))
    return found
