"""A drawing in characters: lines that join where they meet, and text above them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

NORTH, EAST, SOUTH, WEST = 1, 2, 4, 8
_JOINTS = " ╵╶╰╷│╭├╴╯─┴╮┤┬┼"
"""The character of each set of directions, by the sum of its bits."""
_DASHED = {"│": "┆", "─": "┄"}


class Canvas:
    """Cells by (line, column), as large as what is drawn."""

    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], int] = {}
        self._dashed: set[tuple[int, int]] = set()
        self._text: dict[tuple[int, int], str] = {}

    def line(self, points: Sequence[tuple[int, int]], dashed: bool = False) -> None:
        """A line through corners, each (line, column), upright or level between two of them."""
        for (y0, x0), (y1, x1) in pairwise(points):
            dy, dx = (y1 > y0) - (y1 < y0), (x1 > x0) - (x1 < x0)
            ahead = {(-1, 0): NORTH, (0, 1): EAST, (1, 0): SOUTH, (0, -1): WEST}.get((dy, dx), 0)
            back = {NORTH: SOUTH, SOUTH: NORTH, EAST: WEST, WEST: EAST, 0: 0}[ahead]
            y, x = y0, x0
            while (y, x) != (y1, x1):
                self._join(y, x, ahead, dashed)
                y, x = y + dy, x + dx
                self._join(y, x, back, dashed)

    def _join(self, y: int, x: int, direction: int, dashed: bool) -> None:
        known = self._lines.get((y, x), 0)
        if dashed and (not known or (y, x) in self._dashed):
            self._dashed.add((y, x))
        else:
            self._dashed.discard((y, x))
        self._lines[y, x] = known | direction

    def text(self, y: int, x: int, text: str, style: str = "") -> None:
        """Text from a cell to the right, over whatever line is there; `style` is an ANSI code, as in `31`."""
        for place, one in enumerate(text):
            self._text[y, x + place] = f"\x1b[{style}m{one}\x1b[0m" if style else one

    def fill(self, y: int, x: int, one: str) -> None:
        """A character where nothing else is."""
        if (y, x) not in self._lines:
            self._text.setdefault((y, x), one)

    def rows(self) -> list[str]:
        """The lines of the drawing, without spaces at their ends."""
        cells = {cell: self._joint(cell) for cell in self._lines} | self._text
        height = max((y for y, _ in cells), default=-1) + 1
        widths = [0] * height
        for y, x in cells:
            widths[y] = max(widths[y], x + 1)
        rows = ["".join(cells.get((y, x), " ") for x in range(widths[y])) for y in range(height)]
        return [row.replace("\x1b[0m\x1b[", "\x1b[").rstrip() for row in rows]

    def _joint(self, cell: tuple[int, int]) -> str:
        joint = _JOINTS[self._lines[cell]]
        return _DASHED.get(joint, joint) if cell in self._dashed else joint
