"""The JSON schema of a topology file, made from the models.

The models describe a topology once it is merged and expanded; a file may leave out what it inherits, use a
lane's short form, and remove an entry by `null`.
"""

from __future__ import annotations

from typing import Any

from graph.topology import Topology

DIALECT = "http://json-schema.org/draft-07/schema#"


def file_schema() -> dict[str, Any]:
    """The schema as plain data, in draft 7, which editors know best."""
    schema = Topology.model_json_schema(ref_template="#/definitions/{model}")
    parts = schema.pop("$defs")
    required = {name: part.pop("required", []) for name, part in parts.items()}
    schema.pop("required", None)
    _open_to_null(schema)
    for part in parts.values():
        _open_to_null(part)
    parts["Lane"] = {"anyOf": [parts["Lane"]["properties"]["nodes"]["anyOf"][0], parts["Lane"]]}
    return {
        "$schema": DIALECT,
        **schema,
        "title": "laneflow topology",
        "description": "A topology of laneflow: nodes, the edges between them, and the lanes that run them.",
        "definitions": parts,
        "if": {"not": {"anyOf": [{"required": ["extends"]}, {"required": ["abstract"]}]}},
        "then": {
            "required": ["nodes", "lanes"],
            "properties": {
                "buffers": {"additionalProperties": {"required": required["Buffer"]}},
                "nodes": {"additionalProperties": {"required": required["Node"]}},
            },
        },
    }


def _open_to_null(schema: dict[str, Any]) -> None:
    """Let every entry of the object be null, and close every mapping to keys of another form."""
    for name, value in schema["properties"].items():
        value.pop("title", None)
        schema["properties"][name] = _nullable(_mapping(value))


def _mapping(schema: dict[str, Any]) -> dict[str, Any]:
    if "patternProperties" not in schema:
        return schema
    entries = {pattern: _nullable(_mapping(entry)) for pattern, entry in schema["patternProperties"].items()}
    return {**schema, "patternProperties": entries, "additionalProperties": False}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    outer = {key: value for key, value in schema.items() if key in ("default", "description")}
    inner = {key: value for key, value in schema.items() if key not in outer}
    choices = inner.get("anyOf") or inner.get("oneOf") or [inner]
    kept = [_mapping(choice) for choice in choices if choice != {"type": "null"}]
    return {**outer, "anyOf": [*kept, {"type": "null"}]}
