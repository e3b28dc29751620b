"""What pictures are made of: a flat drawing in pixels that the svg and the png are both written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

XY = tuple[float, float]


@dataclass(frozen=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    line: float = 1.0
    radius: float = 0.0
    dashed: bool = False


@dataclass(frozen=True)
class Line:
    """A line through `points`, its corners rounded; `arrow` puts a head at its end."""

    points: Sequence[XY]
    stroke: str
    line: float = 1.0
    dashed: bool = False
    arrow: bool = False
    radius: float = 6.0


@dataclass(frozen=True)
class Text:
    """One line of text; `y` is its baseline, `x` its start, middle or end; `width` is what it takes."""

    x: float
    y: float
    text: str
    size: float
    width: float
    fill: str = "#1d2733"
    anchor: Literal["start", "middle", "end"] = "start"

    @property
    def left(self) -> float:
        """Where it starts."""
        return self.x - self.width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]


@dataclass(frozen=True)
class Group:
    """Marks that belong together: `attributes` name them for a script, `title` tells about them."""

    marks: Sequence[Mark]
    attributes: Mapping[str, str] = field(default_factory=dict)
    title: str = ""


Shape = Rect | Line | Text
Mark = Shape | Group


@dataclass(frozen=True)
class Scene:
    """A drawing with its size; later marks lie above earlier ones."""

    width: float
    height: float
    marks: Sequence[Mark]
    title: str = ""
    summary: str = ""


def shapes(marks: Sequence[Mark]) -> Iterator[Shape]:
    """All shapes in order, groups opened."""
    for mark in marks:
        if isinstance(mark, Group):
            yield from shapes(mark.marks)
        else:
            yield mark


def corners(points: Sequence[XY], radius: float) -> Iterator[tuple[XY, XY, XY]]:
    """For each inner corner: where its rounding starts, the corner, and where the rounding ends."""
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        yield _towards(at, before, radius), at, _towards(at, after, radius)


def _towards(start: XY, end: XY, distance: float) -> XY:
    """The point at a distance from `start` on the way to `end`, at most half way."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = (dx * dx + dy * dy) ** 0.5
    part = min(distance, length / 2) / length if length else 0.0
    return start[0] + dx * part, start[1] + dy * part


def arrow_head(points: Sequence[XY], line: float) -> list[XY]:
    """The triangle at the end of a line, its tip on the last point."""
    (x0, y0), (x1, y1) = points[-2], points[-1]
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    long, half = 5.0 + 1.5 * line, 2.2 + line
    back = (x1 - dx * long, y1 - dy * long)
    return [(x1, y1), (back[0] - dy * half, back[1] + dx * half), (back[0] + dy * half, back[1] - dx * half)]


def shaft(points: Sequence[XY], line: float) -> list[XY]:
    """The points of a line that ends in a head: it stops inside the head, so that the tip stays sharp."""
    return [*points[:-1], _towards(points[-1], points[-2], 4.0 + line)]
