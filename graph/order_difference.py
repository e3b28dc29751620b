"""What two topologies guarantee about the order of the nodes they share, and what their lanes wait for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from graph.limit import cause
from graph.order import MarkedGraph
from graph.program import Program


class Guarantee(NamedTuple):
    """`before` on step k is through before `after` on step k + n starts, for every k.

    `first` and `second` are the least such n in the two topologies; None where there is none.
    """

    before: str
    after: str
    first: int | None
    second: int | None
    implied: bool
    """Whether it differs only because another does: both lead over one node, ordered alike on one side."""

    @property
    def gained(self) -> bool:
        """Whether the other topology orders more than the first."""
        return self.second is not None and (self.first is None or self.second < self.first)


class Wait(NamedTuple):
    """A wait between lanes that no other implies: `after` on step k + n waits for `before` on step k."""

    before: str
    after: str
    n: int


class Waits(NamedTuple):
    """The waits of two programs; for each why it is there."""

    kept: Mapping[Wait, str]
    dropped: Mapping[Wait, str]
    added: Mapping[Wait, str]


def guarantees(first: MarkedGraph, second: MarkedGraph, times: Mapping[str, Fraction]) -> list[Guarantee]:
    """The pairs whose guarantee differs: those that others imply last, then by the nodes' time together."""
    shared = [node for node in first.lag if node in second.lag]
    pairs = {(a, b): (_least(first, a, b), _least(second, a, b)) for a in shared for b in shared}
    found = [
        Guarantee(*pair, _count(one), _count(other), _implied(pairs, pair, shared))
        for pair, (one, other) in pairs.items()
        if one != other
    ]
    none = Fraction(0)
    return sorted(
        found, key=lambda one: (one.implied, -times.get(one.before, none) - times.get(one.after, none))
    )


def _least(graph: MarkedGraph, before: str, after: str) -> float:
    return graph.distance(before, after) + graph.lag[before] - graph.lag[after]


def _count(least: float) -> int | None:
    return None if math.isinf(least) else int(least)


def _implied(
    pairs: Mapping[tuple[str, str], tuple[float, float]], pair: tuple[str, str], nodes: Iterable[str]
) -> bool:
    """Whether both guarantees lead over one node, and on one side of it nothing differs.

    Without deadlocks no two pairs imply each other, so what is left always explains the rest.
    """
    before, after = pair
    for between in nodes:
        if between in pair:
            continue
        one, other = pairs[before, between], pairs[between, after]
        whole = one[0] + other[0], one[1] + other[1]
        if whole == pairs[pair] and (one[0] == one[1] or other[0] == other[1]):
            return True
    return False


def waits(first: Program, second: Program) -> Waits:
    """The waits that are left after the compiler has removed those that others imply, compared."""
    one, other = dict(_waits(first)), dict(_waits(second))
    return Waits(
        {wait: why for wait, why in other.items() if wait in one},
        {wait: why for wait, why in one.items() if wait not in other},
        {wait: why for wait, why in other.items() if wait not in one},
    )


def _waits(program: Program) -> Iterator[tuple[Wait, str]]:
    lag = program.graph.lag
    for channel in program.channels:
        n = channel.tokens + lag[channel.producer] - lag[channel.consumer]
        yield Wait(channel.producer, channel.consumer, n), cause(program.topology, channel.arc)
