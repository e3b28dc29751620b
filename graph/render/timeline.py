"""A schedule to scale: a row a lane, each column the same time, a firing as its node and step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from graph.diagnostics import Firing

TICK = 10
"""Columns between two marks of the time axis, at least."""


def timeline(lanes: Iterable[str], firings: Sequence[Firing], width: int = 100) -> list[str]:
    """The time axis in milliseconds, then the lanes, in rows of at most `width` columns.

    A firing has at least one column; where its name does not fit it is cut to a prefix of its own, or less.
    What takes no time is not drawn. Empty where nothing takes time.
    """
    shown = [one for one in firings if one.end > one.start]
    if not shown:
        return []
    names = [*lanes]
    margin = max(map(len, (*names, "ms"))) + 2
    last = max(one.end for one in shown)
    scale = (max(width, margin + 20) - margin) / last
    short = _prefixes({one.node for one in shown})
    rows = ["ms".ljust(margin) + _axis(last, scale)]
    for lane in names:
        own = sorted((one for one in shown if one.lane == lane), key=lambda one: one.start)
        rows.append(lane.ljust(margin) + _bars(own, scale, short))
    return [row[:width].rstrip() for row in rows]


def _bars(firings: Iterable[Firing], scale: float, short: Mapping[str, str]) -> str:
    row = ""
    for one in firings:
        row = row.ljust(round(one.start * scale))
        room = max(1, round(one.end * scale) - len(row))
        names = (f"{one.node}{one.step}", f"{short[one.node]}{one.step}", short[one.node][:room])
        row += next(name for name in names if len(name) <= room).ljust(room, "-")
    return row


def _prefixes(nodes: Iterable[str]) -> dict[str, str]:
    """Each node's shortest prefix that no other node shares; all of it where it is a prefix itself."""
    names = sorted(nodes)
    found = {}
    for name in names:
        lengths = range(1, len(name) + 1)
        alone = (n for n in lengths if sum(other.startswith(name[:n]) for other in names) == 1)
        found[name] = name[: next(alone, len(name))]
    return found


def _axis(last: float, scale: float) -> str:
    tick = next((one for one in _ticks() if one * scale >= TICK), last)
    row = ""
    for place in range(int(last / tick) + 1):
        row = row.ljust(round(place * tick * scale)) + f"{place * tick:g}"
    return row


def _ticks() -> Iterator[float]:
    return (float(f"{factor}e{power}") for power in range(-9, 15) for factor in (1, 2, 5))
