"""SARIF 2.1.0, which code hosts and editors take; a schedule becomes a code flow with a thread a lane."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graph.diagnostics import Diagnostic, Firing, Location
from graph.render.outcome import Outcome, every_diagnostic
from graph.rules.catalogue import catalogue

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "advice": "note"}


def render(outcomes: Sequence[Outcome]) -> str:
    """The document, with every rule's description and the results."""
    rules = {code: index for index, code in enumerate(catalogue())}
    crashes = [_crash(outcome) for outcome in outcomes if outcome.crash]
    run = {
        "tool": {"driver": _driver()},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not crashes, "toolExecutionNotifications": crashes}],
        "results": [_result(diagnostic, rules) for diagnostic in every_diagnostic(outcomes)],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _driver() -> dict[str, Any]:
    rules = [
        {
            "id": rule.code,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.meaning},
            "defaultConfiguration": {"level": LEVELS[rule.severity]},
        }
        for rule in catalogue().values()
    ]
    from importlib import metadata  # slow to import, and other formats do without

    return {"name": "laneflow", "version": metadata.version("laneflow"), "rules": rules}


def _result(diagnostic: Diagnostic, rules: Mapping[str, int]) -> dict[str, Any]:
    text = f"{diagnostic.message}\nhelp: {diagnostic.help}" if diagnostic.help else diagnostic.message
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rules[diagnostic.code],
        "level": LEVELS[diagnostic.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": _physical(diagnostic.location)}],
        "properties": {
            "nodes": list(diagnostic.nodes),
            "buffer": diagnostic.buffer,
            "route": diagnostic.route,
        },
    }
    if diagnostic.schedule:
        result["codeFlows"] = [{"threadFlows": list(_threads(diagnostic.schedule))}]
    return result


def _physical(location: Location) -> dict[str, Any]:
    return {
        "artifactLocation": _artifact(location.file),
        "region": {"startLine": location.line, "startColumn": location.column},
    }


def _artifact(file: str) -> dict[str, str]:
    path = Path(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix(), errors="backslashreplace"), "uriBaseId": "%SRCROOT%"}


def _threads(schedule: Sequence[Firing]) -> Iterable[dict[str, Any]]:
    """One thread flow a lane, its firings in the order in which they start over all lanes."""
    ordered = sorted(schedule, key=lambda firing: (firing.start, firing.end))
    ranks = {firing: rank for rank, firing in enumerate(ordered, 1)}
    for lane, firings in groupby(sorted(ordered, key=lambda firing: firing.lane), lambda firing: firing.lane):
        yield {"id": lane, "locations": [_firing(firing, ranks[firing]) for firing in firings]}


def _firing(firing: Firing, rank: int) -> dict[str, Any]:
    text = f"{firing.node} of step {firing.step}, from {firing.start:g} to {firing.end:g}"
    return {
        "executionOrder": rank,
        "location": {
            "message": {"text": text},
            "logicalLocations": [{"name": firing.node, "kind": "function"}],
        },
    }


def _crash(outcome: Outcome) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": outcome.crash},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(outcome.file)}}],
    }
