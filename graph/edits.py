"""Changes to a topology, as data: they apply to the models here and to the file's text in `graph.splice`.

Paths are those of the long forms: `("lanes", "host", "nodes")`, `("edges", "reclaim@1 -> bind", "carries")`.
Values are plain data in the file's own spelling, and a list is replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from graph.topology import EdgeKey, Entry, TensorType, Topology, Use

Path = tuple[str, ...]


@dataclass(frozen=True)
class Set:
    """Give the thing at `path` a value, whether or not it was there."""

    path: Path
    value: Any


@dataclass(frozen=True)
class Remove:
    """Take the entry at `path` away."""

    path: Path


@dataclass(frozen=True)
class Rename:
    """Give the mapping entry at `path` another key; it keeps its place and its value."""

    path: Path
    key: str


Edit = Set | Remove | Rename


class EditError(ValueError):
    """An edit does not fit the topology it is applied to; the message says where."""


def plain(value: Any) -> Any:
    """A model, or a part of one, as the plain data that a file would hold; what was not given is left out."""
    if isinstance(value, BaseModel):
        return {
            name: plain(getattr(value, name))
            for name in type(value).model_fields
            if name in value.model_fields_set
        }
    if isinstance(value, Use | Entry | EdgeKey | TensorType):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def edited(topology: Topology, edits: Iterable[Edit]) -> Topology:
    """The topology after `edits`, through its models; raises `EditError` or pydantic's `ValidationError`."""
    return rebuilt(topology, edited_data(plain(topology), edits))


def rebuilt(topology: Topology, data: dict[str, Any]) -> Topology:
    """`data` as a topology with the places of the one it comes from; raises pydantic's `ValidationError`."""
    changed = Topology.model_validate(data)
    changed._places.update(topology._places)
    return changed


def edited_data(data: dict[str, Any], edits: Iterable[Edit]) -> dict[str, Any]:
    """Plain data with `edits` applied in order; what they do not touch is shared. Raises `EditError`."""
    for edit in edits:
        data = _applied(data, edit, edit.path)
    return data


def _applied(data: Any, edit: Edit, path: Path) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise EditError(f"`{'.'.join(edit.path)}` leads through something that has no entries")
    key, rest = path[0], path[1:]
    if rest:
        if key not in data and not isinstance(edit, Set):
            raise EditError(f"there is no `{'.'.join(edit.path)}`")
        return {**data, key: _applied(data.get(key, {}), edit, rest)}
    if isinstance(edit, Set):
        return {**data, key: edit.value}
    if key not in data:
        raise EditError(f"there is no `{'.'.join(edit.path)}`")
    if isinstance(edit, Remove):
        return {name: value for name, value in data.items() if name != key}
    if edit.key in data:
        raise EditError(f"there is already a `{edit.key}` beside `{key}`")
    return {edit.key if name == key else name: value for name, value in data.items()}
