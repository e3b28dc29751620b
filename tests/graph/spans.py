"""Traces made by hand, with times in milliseconds, for figures whose values are known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graph import Topology
from graph.trace import Clock, Process, Span, Trace
from tests.fakes import topology

PIPELINE = topology(
    types={"T": {"x": "int64[1]"}},
    buffers={"inputs": {"type": "T", "slots": 2}},
    nodes={
        "prepare": {"kind": "prepare", "acquires": ["inputs"], "writes": ["inputs"]},
        "dispatch": {"kind": "dispatch", "reads": ["inputs"]},
        "reclaim": {"kind": "reclaim", "emits": "results"},
        "release": {"kind": "release", "releases": ["inputs"]},
        "other": {"kind": "dispatch"},
    },
    edges={
        "prepare -> dispatch": {"carries": ["inputs"]},
        "dispatch -> reclaim": {"carries": ["inputs"]},
        "reclaim -> release": {"carries": ["inputs"]},
    },
    lanes={"host": ["prepare"], "device": ["dispatch", "other"], "output": ["reclaim", "release"]},
    routes={"decode": ["prepare", "dispatch", "reclaim", "release"], "prefill": ["other"]},
)
"""Three lanes, two slots, a second route with a dispatch of its own."""


def span(node: str, step: int, start: float, end: float, **other: Any) -> Span:
    """A firing; unless told, the lane came to it (`ready`) as it started, and the step was submitted at 0."""
    lanes = {entry.node: lane for lane, program in PIPELINE.lanes.items() for entry in program.nodes}
    fields = {"route": "decode", "turn": step, "submitted": 0.0, "ready": start, "device": None, **other}
    return Span(
        node=node,
        step=step,
        turn=fields["turn"],
        route=fields["route"],
        lane=fields.get("lane", lanes.get(node, "")),
        submitted=ns(fields["submitted"]),
        ready=ns(fields["ready"]),
        start=ns(start),
        end=ns(end),
        device=-1 if fields["device"] is None else ns(fields["device"]),
        rows=fields.get("rows", ()),
        error=fields.get("error"),
    )


def trace(spans: Iterable[Span], of: Topology = PIPELINE, rank: int = 0, **other: Any) -> Trace:
    ordered = tuple(sorted(spans, key=lambda one: one.start))
    return Trace(of, ordered, other.pop("clock", Clock(0, 0, "here")), Process(100, rank, "host"), **other)


def steps(times: Mapping[int, Iterable[tuple[Any, ...]]]) -> list[Span]:
    """Spans by step: `{0: [("dispatch", 5, 9), ...]}`; a fourth item has further fields."""
    return [
        span(node, step, start, end, **(more[0] if more else {}))
        for step, firings in times.items()
        for node, start, end, *more in firings
    ]


def ns(milliseconds: float) -> int:
    return round(milliseconds * 1e6)
