"""The rows below the lanes: a bar a buffer, from the node that acquires a slot to the one that releases it.

Bars lie under the columns of their nodes. A dashed line leads from the end of a bar back to its start:
there the slot's next tenant waits.
"""

from __future__ import annotations

from dataclasses import dataclass

from graph.draw import palette
from graph.draw.layout import Layout
from graph.draw.lifetimes import Lifetime, Turn, lifetimes
from graph.draw.scene import Group, Line, Mark, Rect, Text
from graph.draw.text_size import shortened, width
from graph.draw.view import View

BAR, LENT, SMALL, NAME = 20, 18, 11.5, 13.0


@dataclass(frozen=True)
class Piece:
    """A part of a bar: what it says, and from where to where along the columns."""

    turn: Turn
    start: int
    end: int


@dataclass(frozen=True)
class SlotRow:
    """One buffer's row."""

    lifetime: Lifetime
    colour: str
    owners: tuple[Piece, ...]
    users: tuple[tuple[Piece, ...], ...]
    """Those that only use it, in as many rows as they need."""

    @property
    def right(self) -> int:
        """How far its text reaches along the columns."""
        start = self.owners[0].start if self.owners else 0
        return start + 10 + round(width(self.lifetime.returning, SMALL))

    @property
    def height(self) -> int:
        """Its height with the space below it."""
        own = BAR + 4 if self.owners else 0
        back = 24 if self.owners else 0
        return max(20 + 13 * len(_about_lines(self.lifetime)), own + (LENT + 3) * len(self.users) + back + 10)

    def marks(self, left: float, origin: float, y: float, across: float) -> Group:
        """The row, its header at `left`, its columns counted from `origin`, its upper edge at `y`."""
        name = self.lifetime.name
        marks: list[Mark] = [
            Line([(left, y - 4), (left + across, y - 4)], palette.BANDS[1]),
            Rect(left + 2, y + 5, 8, 8, fill=self.colour, radius=4),
            Text(left + 14, y + 13, name, NAME, width(name, NAME)),
            *_about(self.lifetime, left + 14, y + 27),
        ]
        top = y + 2
        for piece in self.owners:
            marks += _bar(piece, origin, top, BAR, self.colour, owned=True)
        bottom = top + (BAR if self.owners else 0)
        for level, pieces in enumerate(self.users):
            for piece in pieces:
                marks += _bar(piece, origin, bottom + 3 + level * (LENT + 3), LENT, self.colour, owned=False)
        if self.lifetime.returning:
            marks.append(self._return(origin, top, bottom + (LENT + 3) * len(self.users)))
        return Group(
            marks, {"class": "buffer", "data-buffer": name}, f"{name}: {', '.join(self.lifetime.about)}"
        )

    def _return(self, origin: float, top: float, bottom: float) -> Group:
        start, end = origin + self.owners[0].start, origin + self.owners[-1].end
        middle, below = top + BAR / 2, bottom + 8
        points = [
            (end, middle),
            (end + 9, middle),
            (end + 9, below),
            (start - 10, below),
            (start - 10, middle),
            (start, middle),
        ]
        told = self.lifetime.returning
        text = Text(start, below + 13, told, SMALL, width(told, SMALL), palette.QUIET)
        return Group([Line(points, palette.FAINT, 1.1, dashed=True, arrow=True), text], {"class": "return"})


def slot_rows(view: View, layout: Layout) -> list[SlotRow]:
    """A row for each buffer, or for each group of routes in which it is had by the same nodes."""
    colours = palette.buffer_colours(view.topology)
    return [_row(one, colours[one.name], layout) for one in lifetimes(view.topology)]


def _row(lifetime: Lifetime, colour: str, layout: Layout) -> SlotRow:
    owners = []
    for place, turn in enumerate(lifetime.owners):
        start, end = _column(turn.node, layout)
        if place + 1 < len(lifetime.owners):
            end = max(end, _column(lifetime.owners[place + 1].node, layout)[0] - 3)
        owners.append(Piece(turn, start, end))
    levels: list[list[Piece]] = []
    for turn in lifetime.users:
        start, end = _column(turn.node, layout)
        piece = Piece(turn, start, max(end, start + round(width(str(turn), SMALL)) + 14))
        level = next((one for one in levels if all(_apart(piece, other) for other in one)), None)
        if level is None:
            levels.append([piece])
        else:
            level.append(piece)
    return SlotRow(lifetime, colour, tuple(owners), tuple(map(tuple, levels)))


def _apart(one: Piece, other: Piece) -> bool:
    return one.end + 4 <= other.start or other.end + 4 <= one.start


def _column(node: str, layout: Layout) -> tuple[int, int]:
    return layout.columns[layout.grid.column[node]]


def _about(lifetime: Lifetime, x: float, y: float) -> list[Mark]:
    return [
        Text(x, y + 13 * place, line, SMALL, width(line, SMALL), palette.QUIET)
        for place, line in enumerate(_about_lines(lifetime))
    ]


def _about_lines(lifetime: Lifetime) -> list[str]:
    return [*lifetime.about, *(f"route {route}" for route in lifetime.routes)]


def _bar(piece: Piece, origin: float, y: float, height: float, colour: str, owned: bool) -> list[Mark]:
    """Filled for an owner; an outline for a node that only uses the slot."""
    x, across = origin + piece.start, piece.end - piece.start
    text = shortened(str(piece.turn), SMALL, across - 12)
    shape = Rect(x, y, across, height, None if not owned else colour, colour, 1.2, 4.0)
    told = Text(
        x + 6, y + height / 2 + 4, text, SMALL, width(text, SMALL), palette.PAPER if owned else palette.INK
    )
    return [Group([shape, told], {"class": "turn", "data-turn": piece.turn.node}, str(piece.turn))]
