"""What differs between two topologies, thing by thing, as the files could say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from graph.topology import Topology

PARTS = (
    "requires",
    "fallback",
    "dims",
    "types",
    "buffers",
    "nodes",
    "edges",
    "lanes",
    "routes",
    "in_flight",
    "costs",
)
"""What a topology is made of; its name, summary and ancestry change nothing."""

Plain = dict[str, Any] | list[Any] | str | int | float | bool | None


class Change(NamedTuple):
    """At `path` the first topology has `first`, the other `second`; None where one has nothing there."""

    path: tuple[str, ...]
    first: Plain
    second: Plain

    @property
    def name(self) -> str:
        """The path as an override spells it."""
        return ".".join(self.path)


def changes(first: Topology, second: Topology) -> list[Change]:
    """Every difference, as deep as both have mappings; in the order of the language, then of the files."""
    found: list[Change] = []
    for part in PARTS:
        pair = _plain(getattr(first, part)), _plain(getattr(second, part))
        found += _between((part,), *pair)
    return found


def _between(path: tuple[str, ...], first: Plain, second: Plain) -> Iterator[Change]:
    if isinstance(first, dict) and isinstance(second, dict):
        for key in dict.fromkeys((*first, *second)):
            yield from _between((*path, key), first.get(key), second.get(key))
    elif first != second:
        yield Change(path, first, second)


def _plain(value: object) -> Plain:
    """Mappings, lists, words and numbers; of a model what is not its default, and always a buffer's slots."""
    if isinstance(value, BaseModel):
        fields = ((name, getattr(value, name), field) for name, field in type(value).model_fields.items())
        return {
            name: _plain(held) for name, held, field in fields if name == "slots" or held != field.default
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(held) for key, held in value.items()}
    if isinstance(value, tuple):
        return str(value) if hasattr(value, "_fields") else [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool) else None
