"""A plan for a person, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from graph.diagnostics import Firing
from graph.durations import Durations, Source
from graph.limit import named
from graph.memory import by_place
from graph.plan import Plan, Prediction
from graph.render.table import milliseconds, places, size, table
from graph.render.timeline import timeline
from graph.resources import ACCELERATOR, INTERPRETER

NEAR = Fraction(4, 5)
"""The share of the period from which on the holders of a resource are likely to wait for each other."""
SOURCES: dict[Source, str] = {"override": "set here", "trace": "recorded", "file": "`costs:`"}


def as_dict(plan: Plan, durations: Durations, schedule: Sequence[Firing]) -> dict[str, Any]:
    """The machine-readable form; times in milliseconds, memory in bytes."""
    prediction = plan.prediction
    return {
        "topology": prediction.topology.topology,
        "route": prediction.route,
        **outlook(prediction),
        "slots": dict(plan.slots.counts),
        "slots_period_ms": float(plan.best),
        "slots_codes": list(plan.slot_faults),
        "slots_fewest": plan.slots.fewest,
        "memory_bytes": by_place(plan.memory),
        "memory_unknown": [one.buffer for one in plan.memory if one.slot_bytes is None],
        "lanes_ms": {lane: float(busy) for lane, busy in prediction.lanes.items()},
        "resources": [
            {"name": one.name, "nodes": list(one.nodes), "ms": float(one.duration)}
            for one in prediction.resources
        ],
        "costs_ms": {node: float(prediction.times[node]) for node in prediction.nodes},
        "costs_missing": _missing(prediction, durations),
        "schedule": [asdict(firing) for firing in schedule],
    }


def outlook(prediction: Prediction) -> dict[str, Any]:
    """The period and what sets it, as data."""
    limit = prediction.limit
    return {
        "period_ms": float(prediction.period),
        "limit": {"kind": limit.kind, "text": limit.text},
        "cycle": list(limit.nodes),
    }


def render(plan: Plan, durations: Durations, schedule: Sequence[Firing], width: int) -> str:
    """What is promised, by what it is set, what the slots do, and the first steps to scale."""
    prediction = plan.prediction
    lines = [
        f"{prediction.topology.topology}, route {prediction.route}: "
        f"a step every {milliseconds(prediction.period)}",
        f"  set by     {prediction.limit.text}",
        f"  lanes      {_lanes(prediction)}",
        *_shared(prediction),
        f"  durations  {_durations(prediction, durations)}",
        f"  memory     {_memory(plan)}",
        "",
        *_buffers(plan),
    ]
    rows = timeline(prediction.topology.lanes, schedule, width)
    return "\n".join([*lines, *(["", *_drawn(prediction, rows)] if rows else [])])


def _lanes(prediction: Prediction) -> str:
    return ", ".join(
        f"{lane} {milliseconds(busy)}{_share(prediction, busy)}" for lane, busy in prediction.lanes.items()
    )


def _share(prediction: Prediction, part: Fraction) -> str:
    return f" ({float(part / prediction.period):.0%})" if prediction.period else ""


def _shared(prediction: Prediction) -> Iterator[str]:
    """What nodes of several lanes share, and that it is an assumption unless the user has said it."""
    for one in prediction.resources:
        if len({prediction.graph.lane[node] for node in one.nodes}) == 1:
            continue  # the lane says the same
        share = f"{milliseconds(one.duration)}{_share(prediction, one.duration)}: {' + '.join(one.nodes)}"
        near = NEAR * prediction.period <= one.duration < prediction.period
        warning = "; near the period: expect waits for it" if near else ""
        assumed = one.name in (INTERPRETER, ACCELERATOR) and one.name not in prediction.stated
        hint = f"\n             (assumed; --holds {one.name}=NODE,... says otherwise)" if assumed else ""
        yield f"  shared     {named(one)} {share}{warning}{hint}"


def _durations(prediction: Prediction, durations: Durations) -> str:
    told = []
    for source, words in SOURCES.items():
        nodes = [node for node in prediction.nodes if durations.source.get(node) == source]
        if nodes:
            told.append(f"{words} for {', '.join(nodes)}")
    if missing := _missing(prediction, durations):
        told.append(f"none for {', '.join(missing)}: counted as 0 ms")
    return "; ".join(told) or "none needed"


def _missing(prediction: Prediction, durations: Durations) -> list[str]:
    return [node for node in prediction.nodes if node not in durations.source]


def _memory(plan: Plan) -> str:
    unknown = [one.buffer for one in plan.memory if one.slot_bytes is None]
    rest = f"; not known of {', '.join(unknown)}: no tensors are declared" if unknown else ""
    return f"{places(by_place(plan.memory))}{rest}"


def _buffers(plan: Plan) -> list[str]:
    """The table of buffers, and what the useful slots come to."""
    topology, counts = plan.prediction.topology, plan.slots.counts
    rows = [
        (
            one.buffer,
            "persistent" if topology.buffers[one.buffer].persistent else str(one.slots),
            str(counts.get(one.buffer, "-")),
            one.place,
            "-" if one.slot_bytes is None else size(one.slot_bytes),
            "-" if one.slot_bytes is None else size(one.total),
        )
        for one in plan.memory
    ]
    if not rows:
        return ["no buffers"]
    heads = ("buffer", "slots", "useful", "place", "a slot", "in all")
    return [*table(heads, rows), *_verdict(plan)]


def _verdict(plan: Plan) -> Iterator[str]:
    if not plan.slots.counts:
        return
    if plan.best < plan.prediction.period:
        what = f"would bring {milliseconds(plan.best)}"
    else:
        what = f"are enough for {milliseconds(plan.best)}"
    least = "the fewest with which no more would help" if plan.slots.fewest else "perhaps not the fewest"
    yield f"useful: those slots together {what}; {least}"
    if plan.slot_faults:
        yield f"        but not as the topology stands: {', '.join(plan.slot_faults)} with those slots"


def _drawn(prediction: Prediction, rows: Sequence[str]) -> Iterator[str]:
    yield from rows
    idle = [node for node in prediction.nodes if not prediction.times[node]]
    if idle:
        yield f"not drawn, as they take no time: {', '.join(idle)}"
    if prediction.limit.kind == "resource":
        yield "drawn as the waits alone allow: nodes that share a resource hold each other up besides"
