"""A scene as svg: one file that needs nothing beside it, the same bytes for the same scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from graph.draw.scene import XY, Group, Line, Mark, Rect, Scene, Shape, Text, arrow_head, corners, shaft

FONT = "Aileron, Helvetica, Arial, 'Liberation Sans', sans-serif"


def render(scene: Scene) -> str:
    """The svg document."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{element(scene)}\n'


def element(scene: Scene, name: str = "") -> str:
    """The `svg` element alone, as it can stand in a page; `name` is its id there."""
    width, height = _number(scene.width), _number(scene.height)
    ident = f" id={quoteattr(name)}" if name else ""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg"{ident} width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONT}" role="group" '
        f"aria-label={quoteattr(scene.title)}>"
    )
    about = [f"<title>{escape(scene.title)}</title>", f"<desc>{escape(scene.summary)}</desc>"]
    return "\n".join([head, *about, *_lines(scene.marks), "</svg>"])


def _lines(marks: Sequence[Mark]) -> Iterator[str]:
    for mark in marks:
        if isinstance(mark, Group):
            attributes = "".join(f" {name}={quoteattr(value)}" for name, value in mark.attributes.items())
            yield f"<g{attributes}>"
            if mark.title:
                yield f"<title>{escape(mark.title)}</title>"
            yield from _lines(mark.marks)
            yield "</g>"
        else:
            yield _shape(mark)


def _shape(shape: Shape) -> str:
    if isinstance(shape, Rect):
        return _rect(shape)
    return _line(shape) if isinstance(shape, Line) else _text(shape)


def _rect(rect: Rect) -> str:
    place = " ".join(f'{name}="{_number(getattr(rect, name))}"' for name in ("x", "y", "width", "height"))
    radius = f' rx="{_number(rect.radius)}"' if rect.radius else ""
    return (
        f'<rect {place}{radius} fill="{rect.fill or "none"}"{_stroke(rect.stroke, rect.line, rect.dashed)}/>'
    )


def _line(line: Line) -> str:
    points = shaft(line.points, line.line) if line.arrow else line.points
    path = (
        f'<path d="{_path(points, line.radius)}" fill="none"{_stroke(line.stroke, line.line, line.dashed)}/>'
    )
    if not line.arrow:
        return path
    head = " ".join(_pair(point) for point in arrow_head(line.points, line.line))
    return f'{path}<polygon points="{head}" fill="{line.stroke}"/>'


def _path(points: Sequence[XY], radius: float) -> str:
    parts = [f"M{_pair(points[0])}"]
    for start, corner, end in corners(points, radius):
        parts.append(f"L{_pair(start)}Q{_pair(corner)} {_pair(end)}")
    return "".join([*parts, f"L{_pair(points[-1])}"])


def _text(text: Text) -> str:
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    return (
        f'<text x="{_number(text.x)}" y="{_number(text.y)}" font-size="{_number(text.size)}"{anchor} '
        f'textLength="{_number(text.width)}" lengthAdjust="spacingAndGlyphs" fill="{text.fill}">'
        f"{escape(text.text)}</text>"
    )


def _stroke(colour: str | None, line: float, dashed: bool) -> str:
    if colour is None:
        return ""
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    return f' stroke="{colour}" stroke-width="{_number(line)}"{dash}'


def _pair(point: XY) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    """At most two decimals, none where there need be none."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
