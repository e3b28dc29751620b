"""Two topologies compared, for a person and as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph.difference import Change
from graph.memory import by_place, memory
from graph.order_difference import Guarantee, Waits
from graph.plan import Prediction
from graph.render.plan import outlook
from graph.render.table import milliseconds, size

MOST = 12
"""Guarantees of a kind, and waits of a kind, that are shown to a person."""
WIDEST = 100
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class Comparison:
    """Two predictions, on one route each, and what is different."""

    first: Prediction
    second: Prediction
    changes: Sequence[Change]
    guarantees: Sequence[Guarantee]
    waits: Waits


def as_dict(found: Comparison) -> dict[str, Any]:
    """All of it as data; `first` and `second` are null where one topology has nothing there."""
    return {
        "first": _side(found.first),
        "second": _side(found.second),
        "changes": [
            {"path": list(one.path), "first": one.first, "second": one.second} for one in found.changes
        ],
        "order": [one._asdict() for one in found.guarantees],
        "waits": {
            kind: [{**wait._asdict(), "why": why} for wait, why in held.items()]
            for kind, held in found.waits._asdict().items()
        },
    }


def _side(prediction: Prediction) -> dict[str, Any]:
    return {
        "topology": prediction.topology.topology,
        "route": prediction.route,
        **outlook(prediction),
        "memory_bytes": by_place(memory(prediction.topology)),
    }


def render(found: Comparison) -> str:
    """The changes, then what they do to period, memory and order."""
    lines = [f"{_titled(found.first)} -> {_titled(found.second)}", *_changes(found.changes), ""]
    lines += [*_period(found), *_memory(found), *_order(found.guarantees), *_waits(found.waits)]
    return "\n".join(lines)


def _titled(prediction: Prediction) -> str:
    return f"{prediction.topology.topology} ({prediction.route})"


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        yield "  nothing differs"
    for one in changes:
        if one.first is None:
            yield f"  + {one.name}: {_value(one.second)}"
        elif one.second is None:
            yield f"  - {one.name}: {_value(one.first)}"
        elif isinstance(one.first, list) and isinstance(one.second, list) and _in_line(one.first, one.second):
            gone = [f"-{_value(word)}" for word in one.first if word not in one.second]
            come = [f"+{_value(word)}" for word in one.second if word not in one.first]
            yield f"  ~ {one.name}: {', '.join(gone + come)}"
        else:
            yield f"  ~ {one.name}: {_value(one.first)} -> {_value(one.second)}"


def _in_line(first: Sequence[object], second: Sequence[object]) -> bool:
    """Whether the lists differ in what they hold, and not in the order of what is in both."""
    return [word for word in first if word in second] == [word for word in second if word in first]


def _value(value: object) -> str:
    """In the file's own manner, without quotes, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).replace('"', "")
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def _period(found: Comparison) -> Iterator[str]:
    first, second = found.first, found.second
    if first.period == second.period:
        yield f"period  {milliseconds(first.period)} in both"
    else:
        change = f" ({float(second.period / first.period - 1):+.1%})" if first.period else ""
        yield f"period  {milliseconds(first.period)} -> {milliseconds(second.period)}{change}"
    if first.limit.text == second.limit.text:
        yield f"        set by {first.limit.text}"
    else:
        yield f"        set by {first.limit.text} -> {second.limit.text}"


def _memory(found: Comparison) -> Iterator[str]:
    totals: list[Mapping[str, int]] = [by_place(memory(one.topology)) for one in (found.first, found.second)]
    told = [
        f"{place} {size(first)}" + ("" if first == second else f" -> {size(second)}")
        for place in dict.fromkeys((*totals[0], *totals[1]))
        for first, second in [(totals[0].get(place, 0), totals[1].get(place, 0))]
    ]
    yield f"memory  {', '.join(told) or 'none'}"


def _order(guarantees: Sequence[Guarantee]) -> Iterator[str]:
    if not guarantees:
        yield "order   the nodes of both are ordered alike"
        return
    yield "order   a < b(+j): a of step k is through before b of step k+j starts"
    for sign, gained in (("-", False), ("+", True)):
        kind = [one for one in guarantees if one.gained == gained]
        shown = [one for one in kind if not one.implied][:MOST]
        for one in shown:
            yield f"  {sign} {one.before} < {one.after}({_offset(one.first)} -> {_offset(one.second)})"
        if len(kind) > len(shown):
            words = "stronger" if gained else "weaker"
            yield f"    and {len(kind) - len(shown)} more {words}; --json has all"


def _offset(n: int | None) -> str:
    return "never" if n is None else f"{n:+d}"


def _waits(waits: Waits) -> Iterator[str]:
    yield f"waits   between lanes: {len(waits.kept)} stay, {len(waits.dropped)} go, {len(waits.added)} come"
    for sign, held in (("-", waits.dropped), ("+", waits.added)):
        for wait, why in list(held.items())[:MOST]:
            yield f"  {sign} {wait.before} < {wait.after}({_offset(wait.n)}): {why}"
        if len(held) > MOST:
            yield f"    and {len(held) - MOST} more; --json has all"
