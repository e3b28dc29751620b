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
"""Nodes and edges of all the topologies checked in one call; of a topology of 300 nodes about forty."""
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


def mends(topology: Topology, found: Sequence[Diagnostic]) -> list[Mend | None]:
    """A mend for each diagnostic, in order; None where no candidate validates or only a person can choose."""
    search = _Search(topology, found, MOST_WORK)
    return [search.mend(diagnostic) for diagnostic in found]


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


class _Search:
    """Mends for the faults of one topology, within one bound on the work."""

    def __init__(self, topology: Topology, found: Sequence[Diagnostic], work: int) -> None:
        self.topology = topology
        self.data = plain(topology)
        self.before = _keys(found)
        self.work = work
        self.offered: list[tuple[Mend, Counter[_Key]]] = []

    def mend(self, fault: Diagnostic) -> Mend | None:
        if fault.severity == "advice":
            return None
        key = _key(fault)
        for mend, after in self.offered:
            if after[key] < self.before[key]:
                return mend
        found = self._cheapest(fault, key)
        if found is None:
            return None
        mend = _joined(found.changes)
        self.offered.append((mend, _keys(faults(edited(self.topology, mend.edits)))))
        return mend

    def _cheapest(self, fault: Diagnostic, key: _Key) -> _Attempt | None:
        """Uniform-cost search; what was accepted stands until nothing cheaper is left to try."""
        queue: list[_Attempt] = []
        serial = self._queued(queue, self.topology, fault, _Attempt(0, 0, (), self.data), 0)
        seen: set[str] = set()
        best: tuple[int, _Attempt] | None = None
        trials = 0
        while queue and trials < MOST_TRIALS and self.work > 0 and (best is None or queue[0].cost < best[0]):
            attempt = heapq.heappop(queue)
            text = json.dumps(attempt.data, sort_keys=True)
            if text in seen:
                continue
            seen.add(text)
            try:
                changed = rebuilt(self.topology, attempt.data)
            except ValidationError:
                continue
            trials += 1
            self.work -= len(changed.nodes) + len(changed.edges)
            if trials == PAIRED_TRIALS and best is None:
                queue = [one for one in queue if len(one.changes) == 1]  # a sorted list is a heap
                queue.sort()
            found = faults(changed)
            after = _keys(found)
            fresh = [one for one in found if _key(one) in after - self.before]
            gone = after[key] < self.before[key]
            if gone and all(self._was_undecided(one, fault) for one in fresh):
                cost = attempt.cost + REVEALED * len(fresh) + lost_overlap(self.topology, changed)
                if best is None or cost < best[0]:
                    best = (cost, attempt)
            if len(attempt.changes) < MOST_CHANGES:
                rest = fresh[:2] if gone or fresh else [one for one in found if _key(one) == key]
                for one in rest:
                    serial = self._queued(queue, changed, one, attempt, serial)
        return best[1] if best else None

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

    def _was_undecided(self, fresh: Diagnostic, fault: Diagnostic) -> bool:
        """Whether the fault that the mend removes is one that left the fresh one undecided."""
        if fault.code in _NAMES:
            return fresh.code not in _NAMES
        if fault.code in _PLACES:
            return fresh.code in (*_ORDERS, "LF301")
        if fault.code == "LF301":
            return fresh.code in _ORDERS
        if fault.code == "LF201":
            return fresh.code in _ORDERS and fresh.buffer == fault.buffer
        return fresh.code == "LF105"


def _joined(changes: Iterable[Change]) -> Mend:
    """One mend of several changes; of two values for one place the later stays."""
    parts = [change for change in changes if change.edits]
    edits = [edit for change in parts for edit in change.edits]
    kept = tuple(edit for place, edit in enumerate(edits) if not _overwritten(edit, edits[place + 1 :]))
    return Mend(kept, ", and ".join(change.help for change in parts))


def _overwritten(edit: Edit, later: Sequence[Edit]) -> bool:
    if not isinstance(edit, Set):
        return False
    follow = next((one for one in later if one.path[: len(edit.path)] == edit.path), None)
    return isinstance(follow, Set) and follow.path == edit.path


def _keys(found: Iterable[Diagnostic]) -> Counter[_Key]:
    return Counter(_key(one) for one in found if one.severity != "advice")


def _key(found: Diagnostic) -> _Key:
    """What makes two diagnostics of a topology before and after a change the same one."""
    told_apart = found.message if found.code in _NAMES else ""
    return found.code, frozenset(found.nodes), found.buffer, found.route, told_apart
