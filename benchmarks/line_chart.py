"""Curves over two axes, in the project's own drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph.draw import palette
from graph.draw.scene import XY, Line, Mark, Rect, Scene, Text
from graph.draw.text_size import width

COLOURS = ("#2463c4", "#c2701c", "#25764a", "#a2338d", "#55657a")
LEFT, TOP, ACROSS, DOWN, SIZE = 64.0, 44.0, 520.0, 300.0, 12.0
MOST_TICKS = 8


@dataclass(frozen=True)
class Curve:
    """A name, and points from left to right."""

    name: str
    points: Sequence[XY]


def line_chart(curves: Sequence[Curve], title: str, x_name: str, y_name: str) -> Scene:
    """All from zero; each curve is named at its end. At least one point must be above zero on each axis."""
    most = [max(point[axis] for one in curves for point in one.points) for axis in (0, 1)]
    ends = [_nice_end(one) for one in most]

    def place(point: XY) -> XY:
        return LEFT + point[0] / ends[0] * ACROSS, TOP + DOWN - point[1] / ends[1] * DOWN

    marks: list[Mark] = [
        Rect(0, 0, LEFT + ACROSS + 110, TOP + DOWN + 50, palette.PAPER),
        _text(LEFT, 20, title, palette.INK),
    ]
    for tick in _ticks(ends[0]):
        x, y = place((tick, 0))
        marks += [Line([(x, TOP), (x, y)], palette.BANDS[1]), _text(x, y + 16, f"{tick:g}", anchor="middle")]
    for tick in _ticks(ends[1]):
        x, y = place((0, tick))
        marks += [
            Line([(x, y), (x + ACROSS, y)], palette.BANDS[1]),
            _text(x - 6, y + 4, f"{tick:g}", anchor="end"),
        ]
    marks.append(_text(LEFT + ACROSS / 2, TOP + DOWN + 36, x_name, anchor="middle"))
    marks.append(_text(8, TOP - 8, y_name))
    free = float("inf")
    for number, one in sorted(enumerate(curves), key=lambda pair: pair[1].points[-1][1]):
        colour = COLOURS[number % len(COLOURS)]
        points = [place(point) for point in one.points]
        free = min(
            points[-1][1] + 4, free - 15
        )  # names of curves that end close together go above each other
        marks += [Line(points, colour, 2.0, radius=0.0)] if len(points) > 1 else []
        marks += [Rect(x - 3, y - 3, 6, 6, colour, radius=3) for x, y in points]
        marks.append(_text(points[-1][0] + 8, free, one.name, colour))
    return Scene(LEFT + ACROSS + 110, TOP + DOWN + 50, marks, title)


def _nice_end(most: float) -> float:
    """The first whole tick that is not below."""
    step = _step(most)
    return step * -(-most // step)


def _step(most: float) -> float:
    sizes = (factor * 10.0**power for power in range(-6, 12) for factor in (1, 2, 5))
    return next(size for size in sizes if most / size <= MOST_TICKS)


def _ticks(end: float) -> Iterator[float]:
    step = _step(end)
    return (number * step for number in range(round(end / step) + 1))


def _text(x: float, y: float, text: str, fill: str = palette.QUIET, anchor: str = "start") -> Text:
    return Text(x, y, text, SIZE, width(text, SIZE), fill, anchor)  # type: ignore[arg-type]  # one of the three
