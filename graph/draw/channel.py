"""The order in which wires turn in one gap between two columns.

Each turning wire gets a slot, counted from the side of the lower column; wires in one slot are apart. The
order found has the fewest crossings among those that a single wire's move can reach, and no two wires lie
on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

OVERLAP = 10
"""An overlap is as bad as so many crossings."""


@dataclass(frozen=True)
class Turn:
    """A wire that changes its height in a gap: where it enters from the near side and leaves on the far one.

    A wire that turns back to the side it came from has both heights in `near`, or both in `far`.
    """

    near: tuple[float, ...]
    far: tuple[float, ...]

    @property
    def low(self) -> float:
        return min(self.near + self.far)

    @property
    def high(self) -> float:
        return max(self.near + self.far)


def slots(turns: Sequence[Turn], apart: float) -> list[int]:
    """The slot of each turn; two that come closer than `apart` to each other get different ones."""
    order = _ordered(turns)
    found = [0] * len(turns)
    for place, index in enumerate(order):
        found[index] = max(
            (
                found[before] + 1
                for before in order[:place]
                if _touch(turns[before], turns[index], apart) or _cost(turns[index], turns[before])
            ),
            default=0,
        )
    return found


def _ordered(turns: Sequence[Turn]) -> list[int]:
    """The turns from near to far: put in one by one where they cost least, then moved while that helps."""
    order: list[int] = []
    for index in range(len(turns)):
        order = _best_insertion(turns, order, index)
    for _ in range(len(turns)):
        moved = order
        for index in range(len(turns)):
            moved = _best_insertion(turns, [one for one in moved if one != index], index)
        if _total(turns, moved) >= _total(turns, order):
            break
        order = moved
    return order


def _best_insertion(turns: Sequence[Turn], order: list[int], index: int) -> list[int]:
    tries = [[*order[:place], index, *order[place:]] for place in range(len(order) + 1)]
    return min(tries, key=lambda one: _total(turns, one))


def _total(turns: Sequence[Turn], order: Sequence[int]) -> int:
    return sum(
        _cost(turns[first], turns[second])
        for place, first in enumerate(order)
        for second in order[place + 1 :]
    )


def _cost(first: Turn, second: Turn) -> int:
    """Crossings, and overlaps, with `first` on the near side of `second`."""
    crossings = sum(second.low < height < second.high for height in first.far)
    crossings += sum(first.low < height < first.high for height in second.near)
    overlaps = len(set(first.far) & set(second.near))
    return crossings + OVERLAP * overlaps


def _touch(one: Turn, other: Turn, apart: float) -> bool:
    return one.low - apart < other.high and other.low - apart < one.high
