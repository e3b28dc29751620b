"""A schedule as text: one row a lane, time from left to right, a firing as its node and step."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from graph.diagnostics import Clash, Diagnostic, Firing
from graph.topology import Topology

CUT = "|"
"""Stands in front of a row where the chart begins later than the schedule."""


def chart(schedule: Sequence[Firing], notes: Sequence[str] = (), width: int = 100) -> list[str]:
    """The lanes as rows of at most `width` columns, then the notes; dashes draw out a firing that lasts.

    Where the whole does not fit, the first part is left out: what a schedule shows stands at its end.
    """
    told = [line for note in notes for line in textwrap.wrap(note, width, subsequent_indent="  ")]
    if not schedule:
        return told
    lanes = list(dict.fromkeys(firing.lane for firing in schedule))
    margin = max(len(lane) for lane in lanes) + 1
    columns = _columns(schedule, width - margin)
    begin = min(columns)
    rows: list[str] = []
    for lane in lanes:
        row = lane.ljust(margin)
        for firing in sorted((one for one in schedule if one.lane == lane), key=lambda one: one.start):
            if firing.end > begin:
                row = row.ljust(margin + columns[max(int(firing.start), begin)]) + _bar(firing, columns)
        if begin:
            row = row[: margin - 1] + CUT + row[margin:]
        rows.append(row[:width].rstrip())
    return [*rows, *told]


def slot_notes(topology: Topology, diagnostic: Diagnostic) -> list[str]:
    """What happens, in time, to the slot, state or stream that the schedule is about."""
    clash, schedule = diagnostic.clash, diagnostic.schedule
    if clash is None or not schedule:
        return []
    if diagnostic.code == "LF401":
        stream = topology.nodes[clash.second.node].emits
        emitted = [
            f"{_named(one)} at t={one.end:g}"
            for one in sorted(_pair(clash, schedule), key=lambda one: one.end)
        ]
        return [f"{stream}: emitted by {', then by '.join(emitted)}"]
    events = list(_pair(clash, schedule))
    told = [
        (one.start, f"{_verb(topology, diagnostic, one)} by {_named(one)} {_span(one)}") for one in events
    ]
    if clash.slot is None or clash.tenure is None:
        return [f"{diagnostic.buffer}: {', '.join(text for _, text in sorted(told))}"]
    return [f"{diagnostic.buffer} slot {clash.slot}: {', '.join(_tenures(topology, diagnostic, clash))}"]


def _tenures(topology: Topology, diagnostic: Diagnostic, clash: Clash) -> list[str]:
    """The slot's life in order of time: taken, used by the two of the clash, given back, taken again."""
    name = diagnostic.buffer or ""
    count = topology.buffers[name].slots
    first = clash.tenure or 0
    told: list[tuple[float, int, str]] = []
    for one in diagnostic.schedule:
        if one.step in (first, first + count):
            if one.node in topology.acquirers(name):
                told.append((one.start, 2, f"acquired by {_named(one)} at t={one.start:g}"))
            if one.node in topology.releasers(name) and one.step == first:
                told.append((one.end, 1, f"released by {_named(one)} at t={one.end:g}"))
    turning = (*topology.acquirers(name), *topology.releasers(name))
    for one in _pair(clash, diagnostic.schedule):
        if one.node not in turning or diagnostic.code == "LF206":
            told.append((one.start, 3, f"{_verb(topology, diagnostic, one)} by {_named(one)} {_span(one)}"))
    return [text for _, _, text in sorted(told)]


def _pair(clash: Clash, schedule: Sequence[Firing]) -> list[Firing]:
    wanted = [(moment.node, moment.step) for moment in (clash.first, clash.second)]
    return [one for one in schedule if (one.node, one.step) in wanted]


def _verb(topology: Topology, diagnostic: Diagnostic, firing: Firing) -> str:
    writes = topology.nodes[firing.node].writes
    return "written" if any(use.buffer == diagnostic.buffer for use in writes) else "read"


def _span(firing: Firing) -> str:
    return f"from t={firing.start:g} to t={firing.end:g}"


def _named(firing: Firing) -> str:
    return f"{firing.node}({firing.step})"


def _label(firing: Firing) -> str:
    return f"{firing.node}{firing.step}"


def _bar(firing: Firing, columns: dict[int, int]) -> str:
    begin = min(columns)
    room = columns[int(firing.end)] - columns[max(int(firing.start), begin)] - 1
    return _label(firing).ljust(room, "-") if firing.end - firing.start > 1 else _label(firing)


def _columns(schedule: Sequence[Firing], room: int) -> dict[int, int]:
    """The column at which each unit of time begins, for as many of the last ones as have room.

    A unit is as wide as the longest name that must fit into it; what lasts longer spreads over its units.
    """
    last = max(int(firing.end) for firing in schedule)
    wide = [1] * last
    for firing in schedule:
        if firing.end - firing.start <= 1:
            wide[int(firing.start)] = max(wide[int(firing.start)], len(_label(firing)) + 1)
    for firing in schedule:
        start, end = int(firing.start), int(firing.end)
        lack = len(_label(firing)) + 1 - sum(wide[start:end])
        if lack > 0:
            wide[end - 1] += lack
    begin = last
    while begin and sum(wide[begin - 1 :]) <= room:
        begin -= 1
    begin = min(begin, last - 1)
    found, column = {}, 0
    for time in range(begin, last + 1):
        found[time] = column
        column += wide[time] if time < last else 0
    return found
