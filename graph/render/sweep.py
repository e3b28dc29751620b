"""A table of choices: what each would bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph.plan import Prediction
from graph.render.plan import outlook
from graph.render.table import milliseconds, places, table


@dataclass(frozen=True)
class Row:
    """One choice; without a prediction where the topology it makes is not sound, and `codes` say why."""

    settings: Mapping[str, str]
    prediction: Prediction | None = None
    memory: Mapping[str, int] = field(default_factory=dict)
    codes: tuple[str, ...] = ()


def as_dicts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as data: the settings, the codes, and of a sound one the period and the memory."""
    nothing = {"period_ms": None, "limit": None, "cycle": None}
    return [
        {
            "settings": dict(row.settings),
            "codes": list(row.codes),
            **(outlook(row.prediction) if row.prediction else nothing),
            "memory_bytes": dict(row.memory) if row.prediction else None,
        }
        for row in rows
    ]


def render(topology: str, route: str, rows: Sequence[Row]) -> str:
    """The table, and which sound choice has the shortest period with the least memory."""
    heads = (*rows[0].settings, "period", "memory", "set by")
    lines = table(heads, [(*row.settings.values(), *_result(row)) for row in rows])
    best = min((row for row in rows if row.prediction), key=_rank, default=None)
    verdict = "none of these is sound"
    if best is not None:
        chosen = " ".join(f"{path}={value}" for path, value in best.settings.items())
        verdict = f"shortest period with the least memory: {chosen}"
    return "\n".join([f"{topology}, route {route}", *lines, verdict])


def _rank(row: Row) -> tuple[float, int]:
    return float(row.prediction.period) if row.prediction else 0.0, sum(row.memory.values())


def _result(row: Row) -> tuple[str, str, str]:
    if row.prediction is None:
        return "-", "-", f"not sound: {', '.join(row.codes)}"
    return milliseconds(row.prediction.period), places(row.memory), row.prediction.limit.text
