"""What pydantic says of a file's shape, as diagnostics (LF002) at the place where the fault stands."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from graph.diagnostics import Diagnostic, Location
from graph.topology import NAME, Topology


def shape_faults(
    error: ValidationError, places: Mapping[tuple[str | int, ...], Location], start: Location
) -> Iterable[Diagnostic]:
    seen: set[tuple[Location, str]] = set()
    for fault in error.errors(include_url=False, include_context=False):
        path = _path(fault["loc"])
        known = path
        while known and known not in places:
            known = known[:-1]
        at = places.get(known, start)
        name = ".".join(str(part) for part in known) or "the topology"
        message, mend = _shape_message(fault, path, name)
        if (at, message) not in seen:
            seen.add((at, message))
            not_a_type = path[:1] == ("types",) and len(path) > 1 and isinstance(fault["input"], str)
            code = "LF005" if not_a_type and fault["type"] in ("value_error", "literal_error") else "LF002"
            yield Diagnostic(at, code, message, mend)


def _path(parts: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Where a model's fault is, without what pydantic adds: `[key]`, and the kind of a type that it tried."""
    path = tuple(part for part in parts if not (isinstance(part, str) and part.startswith("[")))
    return (
        (*path[:2], *path[3:]) if path[:1] == ("types",) and path[2:3] in (("word",), ("record",)) else path
    )


def _shape_message(fault: Any, path: tuple[int | str, ...], name: str) -> tuple[str, str]:
    kind, leaf = fault["type"], str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        fields = _fields_beside(path)
        close = difflib.get_close_matches(leaf, fields, 1)
        known = f"known here: {', '.join(fields)}"
        return f"unknown key `{leaf}`", f"did you mean `{close[0]}`? {known}" if close else known
    if kind == "missing":
        return (
            f"`{leaf}` is missing in `{name}`" if name != "the topology" else f"`{leaf}` is missing",
            f"add `{leaf}`",
        )
    text = fault["msg"].removeprefix("Value error, ")
    if kind == "string_pattern_mismatch":
        text = f"{fault['input']!r} is not a name"
        return f"`{name}`: {text}", f"a name matches {NAME}"
    return f"`{name}`: {text[:1].lower()}{text[1:]}", f"correct `{name}` (it is {_short(fault['input'])})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _fields_beside(path: tuple[int | str, ...]) -> list[str]:
    """The keys that the model around `path` knows."""
    from graph.topology import Buffer, Edge, Lane, Node

    models: dict[str, type[BaseModel]] = {"buffers": Buffer, "nodes": Node, "edges": Edge, "lanes": Lane}
    model: type[BaseModel] = models.get(str(path[0]), Topology) if len(path) > 1 else Topology
    return list(model.model_fields)
