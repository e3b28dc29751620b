"""GitHub workflow commands: one annotation a diagnostic, at its line in the change under review."""

from __future__ import annotations

from collections.abc import Sequence

from graph.diagnostics import Diagnostic
from graph.render.outcome import Outcome, every_diagnostic

COMMANDS = {"error": "error", "warning": "warning", "advice": "notice"}


def render(outcomes: Sequence[Outcome]) -> str:
    """One line a diagnostic; empty where everything is sound."""
    crashes = [
        f"::error file={_property(o.file)},title=internal error::{_message(o.crash)}"
        for o in outcomes
        if o.crash
    ]
    return "\n".join([*map(_annotation, every_diagnostic(outcomes)), *crashes])


def _annotation(diagnostic: Diagnostic) -> str:
    file, line, column = diagnostic.location
    text = f"{diagnostic.message}\nhelp: {diagnostic.help}" if diagnostic.help else diagnostic.message
    place = f"file={_property(file)},line={line},col={column},title={_property(diagnostic.code)}"
    return f"::{COMMANDS[diagnostic.severity]} {place}::{_message(text)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
