"""A topology as plain data in the form of its file, whatever it was merged and overridden from.

`Topology.model_validate(content(t))` says the same as `t`, apart from where in a file it was said. The data
is JSON's, so a trace can carry the topology that ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from graph.topology import EdgeKey, Entry, TensorType, Topology, Use


def content(topology: Topology) -> dict[str, Any]:
    """What the file would say; parts that have their default are left out."""
    return _part(topology)


def _part(part: BaseModel) -> dict[str, Any]:
    fields = type(part).model_fields
    values = {name: getattr(part, name) for name in fields}
    return {name: _plain(value) for name, value in values.items() if value != fields[name].default}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _part(value)
    if isinstance(value, Use | Entry | EdgeKey | TensorType):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
