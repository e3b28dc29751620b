"""What the spans of one process show, as samples in nanoseconds; samples of several processes can be pooled.

`gap_py` is from the end of a dispatch, as Python stamped it, to the start of the next. It cannot see the time
a lane waits to get the interpreter back, because the end is stamped only then; `gap_true` = start of the next
- (start + the device's own time) can, where the device has a clock. A dispatch here is one that computes:
copies are none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph.copies import computing
from graph.topology import Kind, Topology
from graph.trace import Span


@dataclass(frozen=True)
class Measures:
    """Of the steps of one route. Adjacent steps are consecutive steps that both had a dispatch."""

    steps: int
    """Steps that had a dispatch."""
    starts: Mapping[int, int]
    """By step, when its first dispatch started."""
    dispatch: tuple[int, ...]
    """From the start of a step's first dispatch to the end of its last."""
    period: tuple[int, ...]
    """From dispatch to dispatch of adjacent steps, start to start."""
    gap_py: tuple[int, ...]
    gap_true: tuple[int, ...]
    prepare_margins: tuple[int, ...]
    """From the end of prepare(k+1) to that of dispatch(k): hidden where it is not negative."""
    reclaim_margins: tuple[int, ...]
    """How far reclaim(k) stays inside dispatch(k+1), at the nearer end; hidden where not negative."""


def measure(spans: Iterable[Span], topology: Topology, route: str) -> Measures:
    """The samples of one route's steps. A step whose node raised counts as far as it came."""
    own = sorted((span for span in spans if span.route == route), key=lambda span: span.start)
    first, last = _by_step(own, computing(topology))
    _, prepared = _by_step(own, _of_kind(topology, "prepare"))
    reclaim_first, reclaim_last = _by_step(own, _of_kind(topology, "reclaim"))
    pairs = [(step, step + 1) for step in first if step + 1 in first]
    return Measures(
        steps=len(first),
        starts={step: span.start for step, span in first.items()},
        dispatch=tuple(last[step].end - span.start for step, span in first.items()),
        period=tuple(first[b].start - first[a].start for a, b in pairs),
        gap_py=tuple(first[b].start - last[a].end for a, b in pairs),
        gap_true=tuple(
            first[b].start - first[a].start - first[a].device
            for a, b in pairs
            if first[a].device >= 0 and first[a] == last[a]
        ),
        prepare_margins=tuple(last[a].end - prepared[b].end for a, b in pairs if b in prepared),
        reclaim_margins=tuple(
            min(reclaim_first[a].start - first[b].start, last[b].end - reclaim_last[a].end)
            for a, b in pairs
            if a in reclaim_first
        ),
    )


def periods_over(starts: Mapping[int, int], steps: int) -> list[float]:
    """The mean period over `steps` steps, from each step on: a schedule may repeat only every few steps."""
    windows = (range(step, step + steps + 1) for step in starts)
    whole = [window for window in windows if all(step in starts for step in window)]
    return [(starts[window[-1]] - starts[window[0]]) / steps for window in whole]


def durations_ns(spans: Iterable[Span], route: str | None = None) -> dict[str, list[int]]:
    """How long each node worked, firing by firing; those that raised are left out."""
    found: dict[str, list[int]] = {}
    for span in spans:
        if span.error is None and route in (None, span.route):
            found.setdefault(span.node, []).append(span.end - span.start)
    return found


def _of_kind(topology: Topology, kind: Kind) -> list[str]:
    return [name for name, node in topology.nodes.items() if node.kind == kind]


def _by_step(spans: Sequence[Span], nodes: Collection[str]) -> tuple[dict[int, Span], dict[int, Span]]:
    """The first and the last span of these nodes in each step; `spans` are in order of start."""
    last = {span.step: span for span in spans if span.node in nodes}
    first = {span.step: span for span in reversed(spans) if span.node in nodes}
    return dict(sorted(first.items())), last
