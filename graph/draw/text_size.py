"""How wide a text is in pictures: the advance widths of the font that ships with Pillow, Aileron Regular.

The png is drawn in that font; an svg asks its viewer for one of the same build and gives each text this width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_WIDTHS = (
    *(22, 24, 34, 58, 58, 74, 65, 18, 32, 32, 56, 58, 22, 27, 22, 30, 58, 58, 58, 58, 58, 58, 58, 58, 58, 58, 22, 22),
    *(58, 58, 58, 50, 85, 64, 63, 70, 71, 59, 57, 71, 73, 26, 54, 61, 58, 87, 72, 74, 60, 73, 62, 58, 61, 68, 62, 95),
    *(62, 58, 59, 31, 30, 30, 58, 50, 30, 53, 61, 53, 62, 55, 29, 62, 59, 24, 23, 52, 25, 86, 59, 59, 61, 62, 33, 46),
    *(31, 59, 51, 78, 48, 51, 46, 30, 25, 30, 58),
)
"""Hundredths of the font's size, from the space to the tilde."""
_OTHER = 100
"""The same of a character outside that range, at most."""


def width(text: str, size: float) -> float:
    """The width of a line of text, in the unit of `size`, the font's size."""
    hundredths = sum(_WIDTHS[ord(one) - 32] if " " <= one <= "~" else _OTHER for one in text)
    return hundredths * size / 100


def shortened(text: str, size: float, room: float) -> str:
    """The text, or as much of its beginning as fits, with two dots behind it."""
    if width(text, size) <= room:
        return text
    while text and width(f"{text}..", size) > room:
        text = text[:-1]
    return f"{text}.."


def wrapped(text: str, size: float, room: float) -> list[str]:
    """The text in lines that fit, broken at spaces; a longer word is shortened."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(shortened(word, size, room))
    return lines


def rows(widths: Sequence[float], room: float, apart: float) -> Iterator[list[int]]:
    """Indices of things laid side by side, in as many rows as they need."""
    row: list[int] = []
    used = 0.0
    for index, own in enumerate(widths):
        if row and used + apart + own > room:
            yield row
            row, used = [], 0.0
        used += own + (apart if row else 0)
        row.append(index)
    if row:
        yield row
