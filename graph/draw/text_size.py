"""How wide a text is in pictures: the advance widths of the font that ships with Pillow, Aileron Regular.

The png is drawn in that font; an svg asks its viewer for one of the same build and gives each text this
width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_DIGITS = (
    "222434585874651832325658222722305858585858585858585822225858585085646370715957717326546158877274"
    "6073625861686295625859313030585030536153625529625924235225865959616233463159517848514630253058"
)
_WIDTHS = tuple(int(_DIGITS[place : place + 2]) for place in range(0, len(_DIGITS), 2))
"""Hundredths of the font's size, two digits a character, from the space to the tilde."""
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
