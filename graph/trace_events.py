"""A run as events of the Chrome trace format, which Perfetto and chrome://tracing open.

Each lane is a track with a slice for every firing and, between them, one for every wait, named by what was
missing. Each slot is a track with a slice from where a step took it to where it was given back. Arrows follow
the edges, from the end of the producer's firing to the start of the consumer's. Times are microseconds with
three decimals, so that no nanosecond is lost. Format: "Trace Event Format", Google, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graph.program import compile
from graph.stalls import Stall, stalls
from graph.topology import Use
from graph.trace import Span, Trace

Event = dict[str, Any]
WORK, WAIT, SLOT, EDGE = "work", "wait", "slot", "edge"
"""Categories of events."""
FIRST_SLOT_TRACK = 1000
"""Thread ids of lanes start at 1, those of slots here."""


@dataclass
class Timeline:
    """The events of one process; `zero` is the span time that becomes 0, `flow` numbers the file's arrows."""

    trace: Trace
    zero: int
    pid: int
    flow: Iterator[int]

    def events(self) -> Iterator[Event]:
        """All of them; a slice comes before the arrows that end on it."""
        yield from self._tracks()
        waits = stalls(self.trace.spans, compile(self.trace.topology))
        yield from (self._wait(stall) for stall in waits)
        yield from self._firings(waits)
        for (buffer, slot), tid in self._slots.items():
            yield from (self._tenure(span, buffer, slot, tid) for span in self._tenants(buffer, slot))
        yield from self._arrows()

    # -- tracks ----------------------------------------------------------------------------------------------

    @cached_property
    def _lanes(self) -> dict[str, int]:
        return {lane: number for number, lane in enumerate(self.trace.topology.lanes, 1)}

    @cached_property
    def _slots(self) -> dict[tuple[str, int], int]:
        buffers = self.trace.topology.buffers.items()
        slots = [
            (name, slot) for name, buffer in buffers if not buffer.persistent for slot in range(buffer.slots)
        ]
        return {slot: track for track, slot in enumerate(slots, FIRST_SLOT_TRACK)}

    def _tracks(self) -> Iterator[Event]:
        rank = self.trace.process.rank
        yield self._about("process_name", 0, name=f"laneflow {self.trace.topology.topology}, rank {rank}")
        yield self._about("process_sort_index", 0, sort_index=rank)
        names = {tid: f"lane {lane}" for lane, tid in self._lanes.items()}
        names |= {tid: f"{buffer}[{slot}]" for (buffer, slot), tid in self._slots.items()}
        for tid, name in names.items():
            yield self._about("thread_name", tid, name=name)
            yield self._about("thread_sort_index", tid, sort_index=tid)

    def _about(self, what: str, tid: int, **args: Any) -> Event:
        return {"ph": "M", "name": what, "pid": self.pid, "tid": tid, "args": args}

    # -- lanes -----------------------------------------------------------------------------------------------

    def _wait(self, stall: Stall) -> Event:
        args = {"node": stall.node, "turn": stall.turn}
        name = f"wait: {stall.cause}"
        return self._slice(WAIT, name, self._lanes[stall.lane], stall.start, stall.end, args)

    def _firings(self, waits: Sequence[Stall]) -> Iterator[Event]:
        last: dict[tuple[str, int], Stall] = {}
        for stall in sorted(waits, key=lambda stall: (stall.cause.reason != "overhead", stall.end)):
            last[stall.node, stall.turn] = stall
        uses = {name: self._slots_used(name) for name in self.trace.topology.nodes}
        for span in self.trace.spans:
            args = self._args(span)
            if used := uses[span.node]:
                args["slots"] = [
                    f"{use.buffer}[{(span.turn - use.back) % slots}]" for use, slots in used.items()
                ]
            if span.start > span.ready and (span.node, span.turn) in last:
                args["waited_for"] = str(last[span.node, span.turn].cause)
            yield self._slice(WORK, span.node, self._lanes[span.lane], span.start, span.end, args)

    def _args(self, span: Span) -> Event:
        found: Event = {
            "step": span.step,
            "turn": span.turn,
            "route": span.route,
            "waited_us": _us(span.start - span.ready),
            "submitted_us": _us(span.submitted - self.zero),
        }
        if span.rows:
            found["rows"] = [list(row) for row in span.rows]
        if span.device >= 0:
            found["device_us"] = _us(span.device)
        if span.error is not None:
            found["error"] = span.error
        return found

    def _slots_used(self, node: str) -> dict[Use, int]:
        """The slots that a node acquires, uses or releases, each once, with how many its buffer has."""
        topology = self.trace.topology
        declared = topology.nodes[node]
        uses = [Use(name) for name in (*declared.acquires, *declared.releases)]
        uses += [Use(use.buffer, None, use.back) for use in (*declared.reads, *declared.writes)]
        slots = {name: buffer.slots for name, buffer in topology.buffers.items() if not buffer.persistent}
        return {use: slots[use.buffer] for use in dict.fromkeys(uses) if use.buffer in slots}

    # -- slots and edges -------------------------------------------------------------------------------------

    @cached_property
    def _by_node(self) -> dict[str, dict[int, Span]]:
        """Firings by node and turn."""
        found: dict[str, dict[int, Span]] = {name: {} for name in self.trace.topology.nodes}
        for span in self.trace.spans:
            found[span.node][span.turn] = span
        return found

    def _tenants(self, buffer: str, slot: int) -> Iterator[Span]:
        """The firings that took the slot."""
        topology = self.trace.topology
        for taker in topology.acquirers(buffer):
            takes = self._by_node[taker].values()
            yield from (span for span in takes if span.turn % topology.buffers[buffer].slots == slot)

    def _tenure(self, taker: Span, buffer: str, slot: int, tid: int) -> Event:
        givers = (self._by_node[name].get(taker.turn) for name in self.trace.topology.releasers(buffer))
        given = max((giver.end for giver in givers if giver is not None), default=None)
        args: Event = {"buffer": buffer, "slot": slot, "step": taker.step, "route": taker.route}
        if taker.rows:
            args["rows"] = [list(row) for row in taker.rows]
        if given is None:
            args["still_held"] = True
            given = max(span.end for span in self.trace.spans)
        return self._slice(SLOT, f"step {taker.step} ({taker.route})", tid, taker.start, given, args)

    def _arrows(self) -> Iterator[Event]:
        for key in self.trace.topology.edges:
            for turn, span in self._by_node[key.consumer].items():
                source = self._by_node[key.producer].get(turn - key.back)
                if source is None:
                    continue
                arrow = {"cat": EDGE, "name": str(key), "id": next(self.flow), "pid": self.pid}
                # a viewer binds an arrow's end to the slice in which it lies
                inside = max(source.start, source.end - 1) - self.zero
                yield {"ph": "s", **arrow, "tid": self._lanes[source.lane], "ts": _us(inside)}
                start = _us(span.start - self.zero)
                yield {"ph": "f", "bp": "e", **arrow, "tid": self._lanes[span.lane], "ts": start}

    def _slice(self, category: str, name: str, tid: int, start: int, end: int, args: Event) -> Event:
        during = {"ts": _us(start - self.zero), "dur": _us(end - start)}
        return {"ph": "X", "cat": category, "name": name, "pid": self.pid, "tid": tid, **during, "args": args}


def _us(nanoseconds: int) -> float:
    """Microseconds that give the nanoseconds back to a viewer that rounds, and to one that cuts off."""
    value = nanoseconds / 1000
    return value if int(value * 1000) == nanoseconds else math.nextafter(value, math.inf)
