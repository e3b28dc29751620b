"""How samples are told: by their middle, their tail and their worst; and how a count is, by what it is of."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Spread(NamedTuple):
    """Milliseconds. The p-th percentile is the smallest sample that at least p in a hundred do not exceed."""

    median: float
    p95: float
    p99: float
    max: float
    samples: int


def spread(samples: Sequence[float]) -> Spread | None:
    """Of samples in nanoseconds; None where there are none."""
    if not samples:
        return None
    ordered = sorted(samples)

    def ranked(percent: int) -> float:
        return ordered[math.ceil(len(ordered) * percent / 100) - 1] / 1e6

    return Spread(statistics.median(ordered) / 1e6, ranked(95), ranked(99), ranked(100), len(ordered))


@dataclass(frozen=True)
class Share:
    """`count` of `of` steps, and the smallest margin by which one was met; negative where it was missed."""

    count: int
    of: int
    margin_ms: float | None = None

    @classmethod
    def of_margins(cls, margins: Sequence[int]) -> Share:
        """Those that are not negative, in nanoseconds, of all."""
        least = min(margins) / 1e6 if margins else None
        return cls(sum(margin >= 0 for margin in margins), len(margins), least)

    @property
    def fraction(self) -> float | None:
        return self.count / self.of if self.of else None

    def __str__(self) -> str:
        return f"{self.count} of {self.of}" + (f" ({self.count / self.of:.0%})" if self.of else "")
