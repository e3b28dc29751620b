"""The figures of a report by name, as `--json` prints them and `--assert` compares them."""

from __future__ import annotations

from collections.abc import Iterator

from graph.report import Report
from graph.spread import Share, Spread

Figures = dict[str, float | None]
"""None where there was nothing to measure."""

SPREADS = ("median_ms", "p95_ms", "p99_ms", "max_ms")
MEANINGS = {
    "steps": "steps of the route that had a dispatch, over all ranks",
    "ranks": "processes",
    "period.*": "from dispatch to dispatch of adjacent steps: span plus gap",
    "span.*": "from the start of a step's first dispatch to the end of its last",
    "gap.*": "the device's idle time between adjacent steps: gap_true, or gap_py where it has no clock",
    "gap_py.*": "from the end of a dispatch to the start of the next, as stamped in Python",
    "gap_true.*": "the same by the device's own clock, which sees the wait for the interpreter lock, too",
    "overlap.prepare": "share of steps whose prepare was over before the dispatch of the step before ended",
    "overlap.reclaim": "share of steps whose reclaim ran inside the dispatch of the step after",
    "overlap.KIND.count": "those steps, KIND being prepare or reclaim",
    "overlap.KIND.of": "the steps that could have overlapped",
    "overlap.KIND.margin_ms": "the time to spare at the closest; negative where it did not overlap",
    "node.NAME.*": "how long the node worked",
    "lane.NAME.busy": "share of the lane's time in which a node was at work",
    "lane.NAME.waiting_ms": "the lane's other time, for each step",
    "predicted.period_ms": "what the topology allows with the median durations that were measured",
    "predicted.ratio": "the measured period over the predicted one",
    "skew.*": "between the first and the last rank that starts a step's dispatch",
    "fallback": "1 where the fallback ran, else 0",
    "failed": "firings that raised",
    "dropped": "firings that were no longer in the trace",
    "bubbles": "turns without a step",
}
"""`*` is one of `SPREADS`."""


def figures(report: Report) -> Figures:
    """Every figure of the report."""
    return dict(_figures(report))


def _figures(report: Report) -> Iterator[tuple[str, float | None]]:
    yield "steps", report.steps
    yield "ranks", len(report.ranks)
    yield from _spread("period", report.period)
    yield from _spread("span", report.span)
    yield from _spread("gap", report.gap)
    yield from _spread("gap_py", report.gap_py)
    yield from _spread("gap_true", report.gap_true)
    yield from _share("overlap.prepare", report.prepare_overlap)
    yield from _share("overlap.reclaim", report.reclaim_overlap)
    for node, took in report.nodes.items():
        yield from _spread(f"node.{node}", took)
    for name, lane in report.lanes.items():
        yield f"lane.{name}.busy", lane.busy
        yield f"lane.{name}.waiting_ms", lane.waiting_ms
    yield "predicted.period_ms", report.predicted.period_ms if report.predicted else None
    yield "predicted.ratio", report.predicted.ratio if report.predicted else None
    yield from _spread("skew", report.skew)
    yield "fallback", int(report.fallback is not None)
    yield "failed", report.failed
    yield "dropped", report.dropped
    yield "bubbles", report.bubbles


def _spread(name: str, found: Spread | None) -> Iterator[tuple[str, float | None]]:
    values = found[: len(SPREADS)] if found is not None else (None,) * len(SPREADS)
    for which, value in zip(SPREADS, values, strict=True):
        yield f"{name}.{which}", value


def _share(name: str, found: Share) -> Iterator[tuple[str, float | None]]:
    yield name, found.fraction
    yield f"{name}.count", found.count
    yield f"{name}.of", found.of
    yield f"{name}.margin_ms", found.margin_ms
