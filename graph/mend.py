"""For each fault a change that removes it: every one offered was applied to the models and checked again.

A mend removes its fault and brings no new one, save faults that could not be decided before it. Candidates
are tried in the order of what they cost the author, several together where one alone moves the fault
elsewhere; what would take away overlap between the steps counts as dearer, so that a pipeline is not mended
by giving it up. The search is bounded by the number of topologies it checks, never by the clock: a file
always gets the same answer.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from graph.candidates import Change, candidates
from graph.diagnostics import Diagnostic
from graph.edits import Edit, EditError, Set, edited, edited_data, plain, rebuilt
from graph.overlap import lost_overlap
from graph.topology import Topology
from graph.validate import faults

MOST_TRIALS = 120
"""Topologies checked for one fault."""
PAIRED_TRIALS = 80
"""After that many without success only changes that do it alone are tried, down to the dearest."""
MOST_WORK = 24_000
"""Nodes, edges and findings of all topologies checked in one call: of one with 300 nodes about forty."""
MOST_MENDS = 200
"""Mends that `mended` applies one after the other."""
MOST_CHANGES = 3
"""Changes that may have to come together to make a mend."""
REVEALED = 6
"""What each fault costs that a mend brings to light where it was undecided before."""

_Key = tuple[object, ...]
_NAMES = ("LF001", "LF002", "LF003", "LF004", "LF005")
_PLACES = ("LF101", "LF102", "LF302")
_ORDERS = ("LF204", "LF205", "LF206", "LF207", "LF208", "LF303", "LF401")


@dataclass(frozen=True)
class Mend:
    """Edits after which one fault is gone, and a sentence that says them."""

    edits: tuple[Edit, ...]
    help: str


def mends(topology: Topology, found: Sequence[Diagnostic], most: int | None = None) -> list[Mend | None]:
    """A mend for each of the first `most` diagnostics, in order; `found` must be all that there are.

    None where no candidate validates, or only a person can choose.
    """
    search = _Search(topology, found, MOST_WORK)
    return [search.mend(diagnostic) for diagnostic in found[:most]]


def mended(topology: Topology) -> tuple[Topology, tuple[Mend, ...]]:
    """Mend after mend until nothing is left that has one, with the mends in the order to apply them."""
    applied: list[Mend] = []
    work = 4 * MOST_WORK
    while work > 0 and len(applied) < MOST_MENDS:
        search = _Search(topology, found := faults(topology), work)
        mend = next((mend for one in found if (mend := search.mend(one))), None)
        if mend is None:
            break
        topology = edited(topology, mend.edits)
        applied.append(mend)
        work = search.work
    return topology, tuple(applied)


@dataclass(order=True)
class _Attempt:
    """Changes to try together, cheapest first; `serial` keeps the order of the candidates among equals."""

    cost: int
    serial: int
    changes: tuple[Change, ...] = field(compare=False)
    data: dict[str, Any] = field(compare=False)


@dataclass(frozen=True)
class _Outcome:
    """What an attempt comes to."""

    attempt: _Attempt
    topology: Topology
    found: tuple[Diagnostic, ...]
    after: Counter[_Key]


class _Search:
    """Mends for the faults of one topology, within one bound on the work."""

    def __init__(self, topology: Topology, found: Sequence[Diagnostic], work: int) -> None:
        self.topology = topology
        self.data = plain(topology)
        self.before = _keys(found)
        self.work = work
        self.offered: list[tuple[Mend, Counter[_Key]]] = []

    def mend(self, fault: Diagnostic) -> Mend | None:
        """One that was offered for another fault and removes this too, else the cheapest."""
        if fault.severity == "advice" or self.work <= 0:
            return None
        for mend, after in self.offered:
            if after[_key(fault)] < self.before[_key(fault)]:
                return mend
        best = self._cheapest(fault)
        if best is None:
            return None
        mend = self._joined(best.attempt)
        self.offered.append((mend, best.after))
        return mend

    def _cheapest(self, fault: Diagnostic) -> _Outcome | None:
        """Uniform-cost search; what was accepted stands until nothing cheaper is left to try."""
        queue: list[_Attempt] = []
        serial = self._queued(queue, self.topology, fault, _Attempt(0, 0, (), self.data), 0)
        seen: set[str] = set()
        best: tuple[int, _Outcome] | None = None
        trials = 0
        while queue and trials < MOST_TRIALS and self.work > 0 and (best is None or queue[0].cost < best[0]):
            outcome = self._tried(heapq.heappop(queue), seen)
            if outcome is None:
                continue
            trials += 1
            if trials == PAIRED_TRIALS and best is None:
                queue = sorted(one for one in queue if len(one.changes) == 1)
            price = self._price(fault, outcome)
            if price is not None and (best is None or price < best[0]):
                best = (price, outcome)
            if len(outcome.attempt.changes) < MOST_CHANGES:
                for one in self._still_to_mend(fault, outcome):
                    serial = self._queued(queue, outcome.topology, one, outcome.attempt, serial)
        return best[1] if best else None

    def _tried(self, attempt: _Attempt, seen: set[str]) -> _Outcome | None:
        """The outcome; None where it was seen before or the models refuse it."""
        text = json.dumps(attempt.data, sort_keys=True)
        if text in seen:
            return None
        seen.add(text)
        try:
            topology = rebuilt(self.topology, attempt.data)
        except ValidationError:
            return None
        found = tuple(faults(topology))
        self.work -= len(topology.nodes) + len(topology.edges) + len(found)
        return _Outcome(attempt, topology, found, _keys(found))

    def _price(self, fault: Diagnostic, outcome: _Outcome) -> int | None:
        """What the outcome costs where it is a mend."""
        fresh = self._fresh(outcome)
        gone = outcome.after[_key(fault)] < self.before[_key(fault)]
        if not gone or not all(_was_undecided(one, fault) for one in fresh):
            return None
        return outcome.attempt.cost + REVEALED * len(fresh) + lost_overlap(self.topology, outcome.topology)

    def _still_to_mend(self, fault: Diagnostic, outcome: _Outcome) -> Sequence[Diagnostic]:
        """What another change on top should remove: a fault that the first brought, or the same still."""
        return self._fresh(outcome)[:2] or [one for one in outcome.found if _key(one) == _key(fault)]

    def _fresh(self, outcome: _Outcome) -> list[Diagnostic]:
        return [one for one in outcome.found if outcome.after[_key(one)] > self.before[_key(one)]]

    def _queued(
        self, queue: list[_Attempt], topology: Topology, fault: Diagnostic, base: _Attempt, serial: int
    ) -> int:
        """Put every candidate on top of `base` in the queue; `topology` is what `base` comes to."""
        for change in candidates(topology, fault):
            try:
                data = edited_data(base.data, change.edits)
            except EditError:
                continue
            serial += 1
            heapq.heappush(queue, _Attempt(base.cost + change.cost, serial, (*base.changes, change), data))
        return serial

    def _joined(self, attempt: _Attempt) -> Mend:
        """One mend of several changes; of two values for one place the later stays."""
        changes = [change for change in attempt.changes if change.edits]
        edits = [edit for change in changes for edit in change.edits]
        kept = [edit for place, edit in enumerate(edits) if not _overwritten(edit, edits[place + 1 :])]
        same = edited_data(self.data, kept) == attempt.data
        return Mend(tuple(kept if same else edits), ", and ".join(change.help for change in changes))


def _overwritten(edit: Edit, later: Sequence[Edit]) -> bool:
    return isinstance(edit, Set) and any(isinstance(one, Set) and one.path == edit.path for one in later)


def _was_undecided(fresh: Diagnostic, fault: Diagnostic) -> bool:
    """Whether the fault that a mend removes is one that left the fresh one undecided."""
    if fault.code in _NAMES:
        return fresh.code not in _NAMES
    if fault.code in _PLACES:
        return fresh.code in (*_ORDERS, "LF301")
    if fault.code == "LF301":
        return fresh.code in _ORDERS
    if fault.code == "LF201":
        return fresh.code in _ORDERS and fresh.buffer == fault.buffer
    return fresh.code == "LF105"


def _keys(found: Iterable[Diagnostic]) -> Counter[_Key]:
    return Counter(_key(one) for one in found if one.severity != "advice")


def _key(found: Diagnostic) -> _Key:
    """What makes two diagnostics of a topology before and after a change the same one."""
    told_apart = found.message if found.code in _NAMES else ""
    path = found.path[:1] if found.path[:1] == ("edges",) else found.path  # a mend may change an edge's key
    return found.code, frozenset(found.nodes), found.buffer, found.route, told_apart, path
