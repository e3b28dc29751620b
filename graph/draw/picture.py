"""The picture of a view: lanes as bands, nodes along their step, edges, slots below, a legend last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph.draw import palette
from graph.draw.arrange import arrange
from graph.draw.captions import Caption, caption, caption_marks, card_marks, card_size
from graph.draw.grid import Grid
from graph.draw.layout import Box, Layout, Spacing, lay_out
from graph.draw.legend import legend
from graph.draw.scene import XY, Group, Line, Mark, Rect, Scene, Text
from graph.draw.slots import slot_rows
from graph.draw.text_size import width, wrapped
from graph.draw.view import View

SPACING = Spacing(track=12, wire=14, slot=10, gap=7, arrow=5, port=11, band=12)
EDGE = 20
"""Pixels around the whole."""
TITLE, LANE, SMALL = 20.0, 15.0, 11.5
LEAST_WIDTH = 720
SLOTS = "Slots. Filled: the node that owns one. Outlined: one that only uses it. Dashed: to its next tenant."


@dataclass(frozen=True)
class Picture:
    """The scene with the layout it was drawn from, whose origin is at `origin`."""

    scene: Scene
    layout: Layout
    captions: Mapping[int, Caption]
    origin: XY


def picture(view: View) -> Picture:
    """The picture of a view."""
    grid = arrange(view)
    captions = {index: one for index, link in enumerate(view.links) if (one := caption(view, link)).rows}
    labels = {index: one.size for index, one in captions.items()}
    layout = lay_out(grid, _card_sizes(grid), labels, SPACING)
    head = _header(view)
    rows = slot_rows(view, layout)
    across = max(LEAST_WIDTH, head + layout.size[0], head + max((row.right for row in rows), default=0))
    top, title = _title(view, across)
    origin = (EDGE + head, EDGE + top)
    marks: list[Mark] = [*title, *_bands(view, layout, origin, head, across)]
    marks += _wires(view, layout, captions, origin)
    marks += [card_marks(view.nodes[name], _moved(box, origin)) for name, box in layout.nodes.items()]
    y = origin[1] + layout.size[1] + 30
    if rows:
        marks.append(_text(EDGE, y, SLOTS, 13.0))
        y += 14
        for row in rows:
            marks.append(row.marks(EDGE, origin[0], y, across))
            y += row.height
    y += 22
    found, below = legend(view, EDGE, y, across)
    scene = Scene(
        across + 2 * EDGE, below + EDGE, _on_paper([*marks, *found], across, below), view.title, view.summary
    )
    return Picture(scene, layout, captions, origin)


def _on_paper(marks: Sequence[Mark], across: float, below: float) -> list[Mark]:
    return [Rect(0, 0, across + 2 * EDGE, below + EDGE, fill=palette.PAPER), *marks]


def _card_sizes(grid: Grid) -> dict[str, tuple[int, int]]:
    """The nodes' sizes: as wide as the widest of their column, high enough for the wires that they have."""
    sizes = {name: card_size(node) for name, node in grid.view.nodes.items()}
    widest: dict[int, int] = {}
    for name, size in sizes.items():
        column = grid.column[name]
        widest[column] = max(widest.get(column, 0), size[0])
    found = {}
    for name, size in sizes.items():
        out = sum(wire.producer == name for wire in grid.wires)
        into = sum(wire.consumer == name for wire in grid.wires)
        found[name] = widest[grid.column[name]], max(size[1], 2 * SPACING.port * max(out, into) - 4)
    return found


def _header(view: View) -> int:
    """The width of the strip at the left that names lanes and buffers."""
    texts = [width(band.name, LANE) for band in view.bands] + [width("persistent, device", SMALL) + 14]
    texts += [width(name, 13.0) + 14 for name in view.topology.buffers]
    return round(max(texts)) + 20


def _title(view: View, across: float) -> tuple[float, list[Mark]]:
    marks: list[Mark] = [_text(EDGE, EDGE + 16, view.title, TITLE)]
    y = EDGE + 36.0
    for line in wrapped(view.summary, 13.0, across):
        marks.append(_text(EDGE, y, line, 13.0, palette.QUIET))
        y += 16
    return y - EDGE, marks


def _bands(view: View, layout: Layout, origin: XY, head: float, across: float) -> Iterator[Mark]:
    for place, (band, (start, end)) in enumerate(zip(view.bands, layout.bands, strict=True)):
        y, height = origin[1] + start, end - start
        middle = y + height / 2
        marks: list[Mark] = [
            Rect(EDGE, y, across, height, fill=palette.BANDS[place % 2]),
            _text(EDGE + 12, middle, band.name, LANE),
        ]
        if band.worker:
            marks.append(_text(EDGE + 12, middle + 14, f"lane, {band.worker}", SMALL, palette.QUIET))
        yield Group(marks, {"class": "lane", "data-lane": band.name})


def _wires(view: View, layout: Layout, captions: Mapping[int, Caption], origin: XY) -> Iterator[Mark]:
    """All lines first, then their labels, so that no line is drawn through a label."""
    labels: list[Mark] = []
    for index, points in enumerate(layout.wires):
        link = view.links[index]
        colour, line = palette.LINKS[link.style]
        moved = [(x + origin[0], y + 0.5 + origin[1]) for x, y in points]
        attributes = {
            "class": "link",
            "data-from": link.key.producer,
            "data-to": link.key.consumer,
            "data-buffers": " ".join((*link.carries, *link.lends)),
        }
        shaft = Line(moved, colour, line, dashed=link.key.back > 0, arrow=True)
        yield Group([shaft], attributes, _told(link.key.back, str(link.key), link.style))
        if index in captions:
            box = _moved(layout.labels[index], origin)
            labels.append(Group(caption_marks(view, captions[index], box), attributes))
    yield from labels


def _told(back: int, key: str, style: str) -> str:
    return f"{key}: {style}" + (f", of the step {back} back" if back else "")


def _moved(box: Box, origin: XY) -> tuple[float, float, float, float]:
    """x, y, width and height."""
    return (
        box.start[0] + origin[0],
        box.start[1] + origin[1],
        box.end[0] - box.start[0],
        box.end[1] - box.start[1],
    )


def _text(x: float, y: float, text: str, size: float, fill: str = palette.INK) -> Text:
    return Text(x, y, text, size, width(text, size), fill)
