"""Figures of a run, from its spans.

`gap_py` is from the end of a dispatch, as Python stamped it, to the start of the next. It cannot see the time a lane
waits to get the interpreter back, because the end is stamped only then; `gap_true` = start of the next - (start +
the device's own time) can, where the device has a clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graph.topology import Kind, Topology
from graph.trace import Span


@dataclass(frozen=True)
class Share:
    """`count` of `of` steps."""

    count: int
    of: int

    def __str__(self) -> str:
        return f"{self.count} of {self.of}" + (f" ({self.count / self.of:.0%})" if self.of else "")


@dataclass(frozen=True)
class Report:
    """Medians over adjacent steps of one route; None where there was nothing to measure. Times in milliseconds."""

    topology: str
    route: str
    steps: int
    period_ms: float | None
    gap_py_ms: float | None
    gap_true_ms: float | None
    prepare_overlap: Share
    """Steps whose prepare was over before the dispatch of the step before it ended."""
    reclaim_overlap: Share
    """Steps whose reclaim ran inside the dispatch of the step after it."""
    fallback: str | None = None

    def rows(self) -> list[tuple[str, str]]:
        """The report as a table: what, how much."""
        table = [
            ("topology", self.topology),
            ("steps", f"{self.steps} ({self.route})"),
            ("period", _milliseconds(self.period_ms)),
            ("gap_py", _milliseconds(self.gap_py_ms)),
            ("gap_true", _milliseconds(self.gap_true_ms)),
            ("prepare(k+1) over before dispatch(k) ends", str(self.prepare_overlap)),
            ("reclaim(k) inside dispatch(k+1)", str(self.reclaim_overlap)),
        ]
        return [*table, ("fallback", self.fallback)] if self.fallback else table


def _milliseconds(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f} ms"


def report(
    spans: Sequence[Span], topology: Topology, route: str | None = None, fallback: str | None = None
) -> Report:
    """The figures of one route, by default the first; adjacent steps are those whose dispatches follow each other."""
    name = route if route is not None else next(iter(topology.steps_routes()))
    own = [span for span in spans if span.route == name]
    dispatches = _by_step(own, topology, "dispatch", first=True)
    ends = _by_step(own, topology, "dispatch", first=False)
    prepared = _by_step(own, topology, "prepare", first=False)
    reclaim_starts = _by_step(own, topology, "reclaim", first=True)
    reclaim_ends = _by_step(own, topology, "reclaim", first=False)
    pairs = [(step, step + 1) for step in dispatches if step + 1 in dispatches]
    device = [(a, b) for a, b in pairs if dispatches[a].device >= 0 and dispatches[a] == ends[a]]
    reclaimed = [(a, b) for a, b in pairs if a in reclaim_starts]
    return Report(
        topology.topology,
        name,
        len(dispatches),
        _median(pairs, lambda a, b: dispatches[b].start - dispatches[a].start),
        _median(pairs, lambda a, b: dispatches[b].start - ends[a].end),
        _median(device, lambda a, b: dispatches[b].start - dispatches[a].start - dispatches[a].device),
        Share(sum(prepared[b].end <= ends[a].end for a, b in pairs if b in prepared), len(pairs)),
        Share(
            sum(
                reclaim_starts[a].start >= dispatches[b].start and reclaim_ends[a].end <= ends[b].end
                for a, b in reclaimed
            ),
            len(reclaimed),
        ),
        fallback,
    )


def _by_step(spans: Sequence[Span], topology: Topology, kind: Kind, *, first: bool) -> dict[int, Span]:
    """The first or last span of a kind in each step."""
    found: dict[int, Span] = {}
    for span in sorted(spans, key=lambda span: span.start):
        if topology.nodes[span.node].kind == kind and not (first and span.step in found):
            found[span.step] = span
    return found


def _median(pairs: Sequence[tuple[int, int]], of: Callable[[int, int], int]) -> float | None:
    return statistics.median(of(a, b) for a, b in pairs) / 1e6 if pairs else None
