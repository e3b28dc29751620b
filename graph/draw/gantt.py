"""A schedule as a scene: a row a lane, then a row a slot with the steps that have it; time to the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graph.diagnostics import Firing
from graph.draw import palette
from graph.draw.scene import Group, Line, Mark, Rect, Scene, Text
from graph.draw.text_size import width
from graph.topology import Topology

SMALL, ROW, SLOT_ROW, TOP = 11.0, 30, 18, 26
LEAST, MOST = 1000.0, 6000.0
"""The least and the largest width of the time axis, in pixels."""
THIN = 5.0
"""As wide as the shortest firing should be drawn, where the largest width allows."""
MOST_SLOTS = 32
"""Rows for slots that are drawn at most."""


def gantt(topology: Topology, firings: Sequence[Firing], title: str) -> Scene:
    """The scene of a schedule; `firings` has at least one."""
    last = max(one.end for one in firings) or 1.0
    shortest = min((one.end - one.start for one in firings if one.end > one.start), default=last)
    scale = min(max(LEAST, last / shortest * THIN), MOST) / last
    tenures = list(_tenures(topology, firings))
    rows = [f"{name} {slot}" for name, slot in dict.fromkeys((name, slot) for name, slot, *_ in tenures)][
        :MOST_SLOTS
    ]
    head = round(max(width(text, SMALL) for text in (*topology.lanes, *rows))) + 24
    across = head + last * scale + 20
    marks: list[Mark] = list(_axis(last, scale, head))
    y = float(TOP)
    for place, lane in enumerate(topology.lanes):
        marks += [Rect(0, y, across, ROW, palette.BANDS[place % 2]), _text(8, y + 19, lane)]
        marks += [_firing(topology, one, head, y + 3, scale) for one in firings if one.lane == lane]
        y += ROW
    y += 8
    for row in rows:
        marks.append(_text(8, y + 12, row, palette.QUIET))
        there = [one for one in tenures if f"{one[0]} {one[1]}" == row]
        marks += [_tenure(topology, one, head, y, scale) for one in there]
        y += SLOT_ROW
    return Scene(across, y + 8, marks, title)


def _tenures(topology: Topology, firings: Sequence[Firing]) -> Iterator[tuple[str, int, int, float, float]]:
    """Buffer, slot, step, and from when to when the step has it."""
    for name, buffer in topology.buffers.items():
        takers, givers = topology.acquirers(name), topology.releasers(name)
        starts = {one.step: one.start for one in firings if one.node in takers}
        ends = {one.step: one.end for one in firings if one.node in givers}
        for step in sorted(starts, key=lambda step: (step % buffer.slots, step)):
            if step in ends:
                yield name, step % buffer.slots, step, starts[step], ends[step]


def _axis(last: float, scale: float, head: float) -> Iterator[Mark]:
    tick = next((one for one in _ticks() if one * scale >= 60), last)
    for place in range(int(last / tick) + 1):
        x = head + place * tick * scale
        yield Line([(x, 16), (x, TOP)], palette.FAINT)
        yield _text(x + 3, 16, f"{place * tick:g} ms", palette.QUIET)


def _ticks() -> Iterator[float]:
    return (factor * 10.0**power for power in range(-6, 12) for factor in (1, 2, 5))


def _firing(topology: Topology, one: Firing, head: float, y: float, scale: float) -> Group:
    fill, stroke = palette.KINDS[topology.nodes[one.node].kind]
    x, across = head + one.start * scale, max(2.0, (one.end - one.start) * scale)
    marks: list[Mark] = [Rect(x, y, across, ROW - 6, fill, stroke, 1.0, min(3.0, across / 2))]
    told = next(
        (text for text in (f"{one.node} {one.step}", str(one.step)) if width(text, SMALL) + 6 <= across), ""
    )
    if told:
        marks.append(_text(x + 3, y + 16, told))
    title = f"{one.node} of step {one.step}: {one.start:g} to {one.end:g} ms"
    attributes = {"class": "firing", "data-firing": f"{one.node}:{one.step}", "data-of": one.node}
    return Group(marks, attributes, title)


def _tenure(
    topology: Topology, tenure: tuple[str, int, int, float, float], head: float, y: float, scale: float
) -> Group:
    name, slot, step, start, end = tenure
    x, across = head + start * scale, max(2.0, (end - start) * scale - 1)
    marks: list[Mark] = [Rect(x, y, across, SLOT_ROW - 3, palette.buffer_colours(topology)[name], radius=3.0)]
    if width(f"step {step}", SMALL) + 8 <= across:
        marks.append(_text(x + 4, y + 11.5, f"step {step}", palette.PAPER))
    title = f"{name} slot {slot}: step {step} has it from {start:g} to {end:g} ms"
    return Group(marks, {"class": "tenure", "data-tenure": name}, title)


def _text(x: float, y: float, text: str, fill: str = palette.INK) -> Text:
    return Text(x, y, text, SMALL, width(text, SMALL), fill)
