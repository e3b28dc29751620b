"""A report for a person, two of them before and after, and as data."""

from __future__ import annotations

from typing import Any

from graph.figures import figures
from graph.render.table import table
from graph.report import Report
from graph.spread import Share, Spread

UNMEASURED = "not measured"
PREPARE = "prepare(k+1) over before dispatch(k) ends"
RECLAIM = "reclaim(k) inside dispatch(k+1)"
MOST_WAITS = 12
"""Causes of waiting that are shown to a person."""


def as_dict(report: Report) -> dict[str, Any]:
    """The machine-readable form; times in milliseconds, null where there was nothing to measure."""
    return {
        "topology": report.topology,
        "route": report.route,
        "ranks": list(report.ranks),
        "fallback": report.fallback,
        "notes": dict(report.notes),
        "limit": report.predicted.limit if report.predicted else None,
        "figures": figures(report),
        "waiting": [
            {
                "lane": one.lane,
                "node": one.node,
                "reason": one.cause.reason,
                "for_node": one.cause.node,
                "for_buffer": one.cause.buffer,
                "total_ms": one.total_ms,
                "longest_ms": one.longest_ms,
                "count": one.count,
            }
            for one in report.waiting
        ],
    }


def summary(report: Report) -> list[tuple[str, str]]:
    """The medians: what, how much."""
    rows = [
        ("topology", report.topology),
        ("steps", f"{report.steps} ({report.route})"),
        ("period", _median(report.period)),
        ("gap_py", _median(report.gap_py)),
        ("gap_true", _median(report.gap_true)),
        (PREPARE, str(report.prepare_overlap)),
        (RECLAIM, str(report.reclaim_overlap)),
    ]
    fallback = [("fallback", report.fallback)] if report.fallback else []
    return [*rows, *report.notes.items(), *fallback]


def render(report: Report) -> str:
    """Everything, in a few tables."""
    ranks = f", ranks {', '.join(map(str, report.ranks))}" if len(report.ranks) > 1 else ""
    lines = [f"{report.topology}, route {report.route}{ranks}: {report.steps} steps"]
    if report.fallback:
        lines.append(f"  fallback: {report.fallback}")
    lines += [f"  {name}: {text}" for name, text in report.notes.items()]
    lines += [f"  {text}" for text in _warnings(report)]
    skew = [("skew between ranks", report.skew)] if len(report.ranks) > 1 else []
    times = [
        ("period", report.period),
        ("dispatch span", report.span),
        ("gap_py", report.gap_py),
        ("gap_true", report.gap_true),
        *skew,
        *((f"node {name}", took) for name, took in report.nodes.items()),
    ]
    blocks = [
        table(("ms", "median", "p95", "p99", "max"), [(name, *_numbers(took)) for name, took in times]),
        _overlaps(report),
        _prediction(report),
        _lanes(report),
        _waits(report),
    ]
    return "\n".join([*lines, *(line for block in blocks for line in ("", *block))])


def compare(before: Report, after: Report) -> str:
    """What a change did: the medians of both, side by side."""
    names = f"{before.topology}, route {before.route}", f"{after.topology}, route {after.route}"
    rows = [("steps", str(before.steps), str(after.steps), "")]
    for name, old, new in (
        ("dispatch span", before.span, after.span),
        ("gap_py", before.gap_py, after.gap_py),
        ("gap_true", before.gap_true, after.gap_true),
        ("span plus gap", before.period, after.period),
    ):
        rows.append((f"{name}, ms", _numbers(old)[0], _numbers(new)[0], _change(old, new)))
    rows += [
        (PREPARE, str(before.prepare_overlap), str(after.prepare_overlap), ""),
        (RECLAIM, str(before.reclaim_overlap), str(after.reclaim_overlap), ""),
        ("measured over predicted", _ratio(before), _ratio(after), ""),
    ]
    fallbacks = [
        f"  fallback {when}: {one.fallback}"
        for when, one in (("before", before), ("after", after))
        if one.fallback
    ]
    return "\n".join(
        [
            f"before: {names[0]}",
            f"after:  {names[1]}",
            *fallbacks,
            "",
            *table(("", "before", "after", "change"), rows),
        ]
    )


def _warnings(report: Report) -> list[str]:
    found = []
    if report.failed:
        found.append(f"{report.failed} firings raised; their steps count as far as they came")
    if report.dropped:
        found.append(f"{report.dropped} older firings are no longer in the trace")
    return found


def _overlaps(report: Report) -> list[str]:
    shares = ((PREPARE, report.prepare_overlap), (RECLAIM, report.reclaim_overlap))
    return table(
        ("overlap", "steps", "smallest margin, ms"),
        [(name, str(share), _margin(share)) for name, share in shares],
    )


def _margin(share: Share) -> str:
    return UNMEASURED if share.margin_ms is None else f"{share.margin_ms:.3f}"


def _prediction(report: Report) -> list[str]:
    if report.predicted is None:
        return ["predicted period: nothing was measured to predict it from"]
    return [
        f"predicted period {report.predicted.period_ms:.3f} ms, set by: {report.predicted.limit}",
        f"measured over predicted {_ratio(report)}",
    ]


def _lanes(report: Report) -> list[str]:
    rows = [
        (
            name,
            UNMEASURED if lane.busy is None else f"{lane.busy:.1%}",
            UNMEASURED if lane.waiting_ms is None else f"{lane.waiting_ms:.3f}",
        )
        for name, lane in report.lanes.items()
    ]
    return table(("lane", "busy", "waiting, ms a step"), rows)


def _waits(report: Report) -> list[str]:
    rows = [
        (one.lane, one.node, str(one.cause), f"{one.total_ms:.3f}", f"{one.longest_ms:.3f}", str(one.count))
        for one in report.waiting[:MOST_WAITS]
    ]
    lines = table(("lane", "at node", "waited for", "total, ms", "longest", "times"), rows)
    more = report.waiting[MOST_WAITS:]
    left = sum(one.total_ms for one in more)
    return [*lines, f"and {len(more)} smaller causes, {left:.3f} ms together"] if more else lines


def _numbers(found: Spread | None) -> tuple[str, ...]:
    return (UNMEASURED, "", "", "") if found is None else tuple(f"{value:.3f}" for value in found[:4])


def _median(found: Spread | None) -> str:
    return UNMEASURED if found is None else f"{found.median:.3f} ms"


def _ratio(report: Report) -> str:
    ratio = report.predicted.ratio if report.predicted else None
    return UNMEASURED if ratio is None else f"{ratio:.3f}"


def _change(before: Spread | None, after: Spread | None) -> str:
    if before is None or after is None or before.median == 0:
        return ""
    return f"{after.median / before.median - 1:+.1%}"
