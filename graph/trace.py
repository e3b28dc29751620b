"""What happened: one span per firing, kept by the lane that ran it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

SPANS_KEPT = 200_000
"""Per lane: the newest are kept, so that a run of any length has bounded memory."""


class Span(NamedTuple):
    """One firing; times are `time.perf_counter_ns` of this process."""

    node: str
    step: int
    route: str
    lane: str
    ready: int
    """When the lane came to the node: from here to `start` it waited."""
    start: int
    end: int
    device: int
    """How long the device worked, by its own clock, in nanoseconds; -1 where it has none."""


Spans = deque[Span]


def collect(lanes: Iterable[Spans]) -> list[Span]:
    """The spans of all lanes in order of their start."""
    return sorted((span for spans in lanes for span in tuple(spans)), key=lambda span: span.start)
