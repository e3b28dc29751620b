"""How often wires cross in a gap between two columns, told from the tracks that they join.

With the vertical parts of the wires in the best order, two wires cross in a gap exactly as often as counted
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

THROUGH, LEFT, RIGHT = 0, 1, 2


class Piece(NamedTuple):
    """A wire in a gap: through it from track `a` to `b`, or back to the side (LEFT, RIGHT) it came from."""

    kind: int
    a: float
    b: float


def crossings(pieces: Sequence[Piece]) -> int:
    """The least number of crossings of wires in one gap."""
    found = 0
    for place, one in enumerate(pieces, 1):
        kind, a, b = one
        for other in pieces[place:]:
            if kind == other[0] == THROUGH:  # most are: the search spends its time here
                found += (a - other[1]) * (b - other[2]) < 0
            else:
                found += _cross(one, other)
    return found


def _cross(one: Piece, other: Piece) -> bool:
    """Whether two pieces cross of which one turns back."""
    if one.kind == THROUGH or other.kind == THROUGH:
        through, turn = (one, other) if one.kind == THROUGH else (other, one)
        end = through.a if turn.kind == LEFT else through.b
        return min(turn.a, turn.b) < end < max(turn.a, turn.b)
    if one.kind != other.kind:
        return False
    low, high = sorted((one.a, one.b))
    inside = (low < other.a < high) + (low < other.b < high)
    apart = len({one.a, one.b, other.a, other.b}) == 4
    return inside == 1 and apart
