"""What is written at edges and in nodes, and how large that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graph.draw import palette
from graph.draw.scene import Group, Mark, Rect, Text
from graph.draw.text_size import rows, width, wrapped
from graph.draw.view import Link, NodeView, View

Place = tuple[float, float, float, float]
"""x, y, width and height."""

CHIP_TEXT, CHIP_HEIGHT, CHIP_APART = 11.5, 18, 4
CAPTION_ROOM = 90.0
NAME, SMALL, LINE = 14.5, 11.5, 15
ACTION_ROOM = 112.0


@dataclass(frozen=True)
class Chip:
    """One word of an edge's label: a buffer, a value's type, or how many steps back the edge comes from."""

    text: str
    style: str
    """`carries`, `lends`, `value` or `back`."""

    @property
    def width(self) -> int:
        return round(width(self.text, CHIP_TEXT)) + 14


@dataclass(frozen=True)
class Caption:
    """The label of an edge: rows of chips."""

    rows: tuple[tuple[Chip, ...], ...]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, a margin at both ends included, where the line is seen."""
        widest = max(sum(chip.width + CHIP_APART for chip in row) - CHIP_APART for row in self.rows)
        return widest + 8, len(self.rows) * (CHIP_HEIGHT + 3) - 1


def caption(view: View, link: Link) -> Caption:
    """The label of an edge; without rows where it says no more than its line."""
    chips = [
        *(Chip(name, "carries") for name in link.carries),
        *(Chip(name, "lends") for name in link.lends),
        *([Chip(link.value, "value")] if link.value else []),
        *([Chip(f"@{link.key.back}", "back")] if link.key.back else []),
    ]
    found = rows([chip.width for chip in chips], CAPTION_ROOM, CHIP_APART)
    return Caption(tuple(tuple(chips[index] for index in row) for row in found))


def caption_marks(view: View, caption: Caption, place: Place) -> list[Mark]:
    """The chips, row by row, in the middle of a place."""
    colours = palette.buffer_colours(view.topology)
    x0, y, across, _ = place
    found: list[Mark] = []
    for row in caption.rows:
        x = x0 + (across - sum(chip.width + CHIP_APART for chip in row) + CHIP_APART) / 2
        for chip in row:
            found += _chip(chip, x, y, colours)
            x += chip.width + CHIP_APART
        y += CHIP_HEIGHT + 3
    return found


def _chip(chip: Chip, x: float, y: float, colours: dict[str, str]) -> Iterator[Mark]:
    """A carried buffer is filled with its colour, a lent one outlined; a value has a box with corners."""
    carried = chip.style == "carries"
    ink = palette.LINKS["value" if chip.style == "value" else "order"][0]
    stroke = colours[chip.text] if chip.style in ("carries", "lends") else ink
    radius = 1.0 if chip.style == "value" else CHIP_HEIGHT / 2
    yield Rect(x, y, chip.width, CHIP_HEIGHT, stroke if carried else palette.PAPER, stroke, 1.3, radius)
    fill = {"carries": palette.PAPER, "lends": palette.INK}.get(chip.style, ink)
    yield Text(x + chip.width / 2, y + 13, chip.text, CHIP_TEXT, width(chip.text, CHIP_TEXT), fill, "middle")


def card_size(node: NodeView) -> tuple[int, int]:
    """Width and height of a node's card."""
    badge = 22 if node.position else 0
    widths = [width(node.title, NAME) + badge, *(width(line, SMALL) for line, _ in _lines(node))]
    return round(max(widths)) + 20, 32 + LINE * len(_lines(node))


def card_marks(node: NodeView, place: Place) -> Group:
    """A node's card: its place in its lane, name and lag, kind and routes, what it does to slots."""
    x, y, across, height = place
    fill, stroke = palette.KINDS[node.kind]
    faulty = bool(node.codes)
    marks: list[Mark] = [
        Rect(x, y, across, height, fill, palette.FAULT if faulty else stroke, 2.6 if faulty else 1.3, 5.0)
    ]
    start = x + 10
    if node.position:
        marks += [
            Rect(start - 2, y + 8, 17, 17, fill=palette.PAPER, stroke=stroke, radius=8.5),
            _middle(start + 6.5, y + 20.5, str(node.position)),
        ]
        start += 20
    marks.append(Text(start, y + 21.5, node.title, NAME, width(node.title, NAME)))
    for place_of, (line, colour) in enumerate(_lines(node)):
        marks.append(Text(x + 10, y + 40 + LINE * place_of, line, SMALL, width(line, SMALL), colour))
    return Group(
        marks, {"class": "node", "data-node": node.name}, f"{node.title}: {node.kind} on lane {node.lane}"
    )


def _lines(node: NodeView) -> list[tuple[str, str]]:
    """The lines below the name, each with its colour."""
    kind = f"{node.kind} | {', '.join(node.routes)}" if node.routes else str(node.kind)
    found = [(line, palette.QUIET) for line in wrapped(kind, SMALL, ACTION_ROOM)]
    for verb, names in (("acquires", node.acquires), ("releases", node.releases)):
        if names:
            found += [
                (line, palette.INK) for line in wrapped(f"{verb} {', '.join(names)}", SMALL, ACTION_ROOM)
            ]
    if node.emits:
        found.append((f"emits {node.emits}", palette.INK))
    if node.lag:
        behind = "1 step" if node.lag == 1 else f"{node.lag} steps"
        found.append((f"lag: {behind} behind its lane", palette.QUIET))
    if node.codes:
        found += [
            (line, palette.FAULT) for line in wrapped(f"fault: {', '.join(node.codes)}", SMALL, ACTION_ROOM)
        ]
    return found


def _middle(x: float, y: float, text: str) -> Text:
    return Text(x, y, text, SMALL, width(text, SMALL), palette.INK, "middle")
