"""Rows of text under headings, and the words for amounts in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with columns as wide as their widest word; columns of numbers to the right."""
    columns = list(zip(headings, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [all(word[:1].isdigit() or word in ("", "-") for word in column[1:]) for column in columns]
    return [
        "  ".join(
            word.rjust(wide) if to_right else word.ljust(wide)
            for word, wide, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in (headings, *rows)
    ]


def milliseconds(time: Fraction) -> str:
    """As in `45 ms`."""
    return f"{float(time):.6g} ms"


def size(count: int) -> str:
    """As in `1.5 KiB`."""
    amount, power = float(count), 0
    while amount >= 1024 and power < len(UNITS) - 1:
        amount, power = amount / 1024, power + 1
    return f"{amount:.4g} {UNITS[power]}"


def places(totals: Mapping[str, int]) -> str:
    """As in `pinned 1.5 KiB, device 96 B`."""
    return ", ".join(f"{place} {size(count)}" for place, count in totals.items()) or "none"
