"""The order in which wires turn in one gap between two columns.

Each turning wire gets a slot, counted from the side of the lower column; wires in one slot are apart. The
order found has the fewest crossings among those that a single wire's move can reach, and no two wires lie
on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

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
    costs = [[_cost(first, second) for second in turns] for first in turns]
    order = _ordered(costs)
    found = [0] * len(turns)
    for place, index in enumerate(order):
        found[index] = max(
            (
                found[before] + 1
                for before in order[:place]
                if costs[index][before] or _touch(turns[before], turns[index], apart)
            ),
            default=0,
        )
    return found


def _ordered(costs: Sequence[Sequence[int]]) -> list[int]:
    """The turns from near to far: put in one by one where they cost least, then moved while that helps."""
    order: list[int] = []
    for index in range(len(costs)):
        order = _inserted(costs, order, index)
    best = _total(costs, order)
    while True:
        moved = order
        for index in range(len(costs)):
            moved = _inserted(costs, [one for one in moved if one != index], index)
        if (total := _total(costs, moved)) >= best:
            return order
        order, best = moved, total


def _inserted(costs: Sequence[Sequence[int]], order: list[int], index: int) -> list[int]:
    """The order with one more turn, at the first of the places where it costs least."""
    cost = best = sum(costs[index][other] for other in order)
    found = 0
    for place, other in enumerate(order, 1):
        cost += costs[other][index] - costs[index][other]
        if cost < best:
            found, best = place, cost
    return [*order[:found], index, *order[found:]]


def _total(costs: Sequence[Sequence[int]], order: Sequence[int]) -> int:
    return sum(costs[first][second] for first, second in combinations(order, 2))


def _cost(first: Turn, second: Turn) -> int:
    """Crossings, and overlaps, with `first` on the near side of `second`."""
    crossings = sum(second.low < height < second.high for height in first.far)
    crossings += sum(first.low < height < first.high for height in second.near)
    overlaps = len(set(first.far) & set(second.near))
    return crossings + OVERLAP * overlaps


def _touch(one: Turn, other: Turn, apart: float) -> bool:
    return one.low - apart < other.high and other.low - apart < one.high
