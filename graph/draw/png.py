"""A scene as png, drawn with Pillow in the font that Pillow brings along, at twice the scene's size.

The file carries a digest of the drawing. Two pngs are the same drawing where their pixels agree, or, where
another version of Pillow made one of them, where the digests do.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import PIL
from PIL import Image, ImageDraw, ImageFont, PngImagePlugin

from graph.draw import svg
from graph.draw.scene import XY, Line, Rect, Scene, Text, arrow_head, corners, shaft, shapes

SCALE = 2
"""Pixels of the file for one of the scene."""
FINE = 2
"""Pixels drawn for one of the file, each way: edges are smoothed by drawing large and shrinking."""
MOST_PIXELS = 96_000_000
"""The largest picture, in pixels drawn; beyond it memory would run out before the eye could follow."""
DASH = (6.0, 4.0)


def render(scene: Scene) -> bytes:
    """The file, the same bytes for the same scene and Pillow; raises `ValueError` where it is too large."""
    size = round(scene.width * SCALE), round(scene.height * SCALE)
    if size[0] * size[1] * FINE**2 > MOST_PIXELS:
        raise ValueError(
            f"the picture would have {size[0]} x {size[1]} pixels: draw one route, or draw it as svg"
        )
    image = Image.new("RGB", (size[0] * FINE, size[1] * FINE), "white")
    draw = ImageDraw.Draw(image)
    for shape in shapes(scene.marks):
        if isinstance(shape, Rect):
            _rect(draw, shape)
        elif isinstance(shape, Line):
            _line(draw, shape)
        else:
            _text(draw, shape)
    image = image.resize(size, Image.Resampling.BOX)
    info = PngImagePlugin.PngInfo()
    info.add_text("drawing", hashlib.sha256(svg.render(scene).encode()).hexdigest())
    info.add_text("pillow", PIL.__version__)
    out = io.BytesIO()
    image.quantize(256, dither=Image.Dither.NONE).save(out, "png", pnginfo=info, optimize=True)
    return out.getvalue()


def same(one: bytes, other: bytes) -> bool:
    """Whether two files show the same drawing; raises `OSError` where one is no picture."""
    first, second = (Image.open(io.BytesIO(data)) for data in (one, other))
    if first.info.get("pillow") != second.info.get("pillow"):
        return first.size == second.size and first.info.get("drawing") == second.info.get("drawing")
    return first.convert("RGB").tobytes() == second.convert("RGB").tobytes()


@cache
def _font(size: float) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise OSError("this build of Pillow has no FreeType, and without it no text can be drawn")
    return font


def _scaled(value: float) -> float:
    return value * SCALE * FINE


def _points(points: Sequence[XY]) -> list[XY]:
    return [(_scaled(x), _scaled(y)) for x, y in points]


def _rect(draw: ImageDraw.ImageDraw, rect: Rect) -> None:
    box = _points([(rect.x, rect.y), (rect.x + rect.width, rect.y + rect.height)])
    line = round(_scaled(rect.line)) if rect.stroke and not rect.dashed else 0
    outline_colour = rect.stroke if line else None
    draw.rounded_rectangle(box, _scaled(rect.radius), rect.fill, outline_colour, max(line, 1))
    if rect.dashed and rect.stroke:
        (x0, y0), (x1, y1) = box
        outline = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
        _strokes(draw, outline, rect.stroke, rect.line, dashed=True)


def _line(draw: ImageDraw.ImageDraw, line: Line) -> None:
    points = shaft(line.points, line.line) if line.arrow else line.points
    _strokes(draw, _points(list(_rounded(points, line.radius))), line.stroke, line.line, line.dashed)
    if line.arrow:
        draw.polygon(_points(arrow_head(line.points, line.line)), fill=line.stroke)


def _rounded(points: Sequence[XY], radius: float) -> Iterator[XY]:
    """The points with each corner as a few points of a curve."""
    yield points[0]
    for start, at, end in corners(points, radius):
        for part in range(7):
            t = part / 6
            near, both, far = (1 - t) ** 2, 2 * t * (1 - t), t * t
            yield (
                near * start[0] + both * at[0] + far * end[0],
                near * start[1] + both * at[1] + far * end[1],
            )
    yield points[-1]


def _strokes(draw: ImageDraw.ImageDraw, points: Sequence[XY], colour: str, line: float, dashed: bool) -> None:
    width = max(1, round(_scaled(line)))
    for run in _dashes(points) if dashed else [list(points)]:
        draw.line(run, fill=colour, width=width, joint="curve")


def _dashes(points: Sequence[XY]) -> Iterator[list[XY]]:
    """The parts of a line that are drawn."""
    lengths = [_scaled(length) for length in DASH]
    left, drawn, run = lengths[0], True, [points[0]]
    for start, end in pairwise(points):
        x, y = start
        while (rest := ((end[0] - x) ** 2 + (end[1] - y) ** 2) ** 0.5) > left:
            x, y = x + (end[0] - x) * left / rest, y + (end[1] - y) * left / rest
            run.append((x, y))
            if drawn:
                yield run
            drawn, run = not drawn, [(x, y)]
            left = lengths[0 if drawn else 1]
        left -= rest
        run.append(end)
    if drawn and len(run) > 1:
        yield run


def _text(draw: ImageDraw.ImageDraw, text: Text) -> None:
    shown = "".join(one if " " <= one <= "~" else "?" for one in text.text)
    place = _scaled(text.left), _scaled(text.y)
    draw.text(place, shown, font=_font(_scaled(text.size)), fill=text.fill, anchor="ls")
