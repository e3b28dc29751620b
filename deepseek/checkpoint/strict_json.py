"""JSON of unknown origin: whatever is wrong with it is a `ValueError`, and every number in it is finite."""

import json
import math
from typing import Any


def parse(document: str | bytes) -> Any:
    """The document's value; raises `ValueError` for bad syntax, NaN, an infinity, and nesting too deep."""
    try:
        return json.loads(document, object_pairs_hook=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, value in pairs:
        _check(name, value)
    return dict(pairs)


def _check(name: str, value: Any) -> None:
    """Objects were checked when they were read; lists have no hook of their own."""
    if isinstance(value, list):
        for item in value:
            _check(name, item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value}, not a finite number")
