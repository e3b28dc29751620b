"""The steady period of a schedule by looking at it alone: no cycle of the graph is known here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from graph import Topology
from graph.schedule import schedule

MOST_STEPS = 12_800
DRAINED = 8
"""Steps at the end, where lagged nodes have their lanes more and more to themselves."""


def settled_period(topology: Topology, durations: Mapping[str, int], route: str) -> Fraction:
    """Of the slowest node: each node's ends repeat at last, c steps later by the same time."""
    steps = 200
    while steps <= MOST_STEPS:
        ends: dict[str, list[float]] = {}
        for firing in schedule(topology, durations, steps, [route]):
            ends.setdefault(firing.node, [0.0] * steps)[firing.step] = firing.end
        rates = [_rate(times) for times in ends.values()]
        if None not in rates:
            return max((rate for rate in rates if rate is not None), default=Fraction(0))
        steps *= 2
    raise AssertionError(f"not settled after {steps} steps: {topology}")


def _rate(ends: Sequence[float]) -> Fraction | None:
    tail = ends[len(ends) // 2 : -DRAINED]
    for c in range(1, len(tail) // 3):
        moved = {later - earlier for earlier, later in zip(tail, tail[c:], strict=False)}
        if len(moved) == 1:
            return Fraction(int(moved.pop()), c)
    return None
