"""Text for a person: the place, the message, the line of the file, the counterexample and the mend.

Names and lines come from files that nobody vouches for: control characters are shown escaped, so that no file
can drive the terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from graph.diagnostics import Diagnostic
from graph.render.chart import chart, slot_notes
from graph.render.outcome import Outcome
from graph.topology import Topology

Lines = Callable[[str], Sequence[str]]
"""From a file's name to its lines; none where it cannot be read."""

COLOURS = {"error": "31", "warning": "33", "advice": "36"}
WIDEST = 160
"""Longest part of a source line that is shown."""


def render(outcomes: Sequence[Outcome], lines: Lines, colour: bool = False) -> str:
    """Every diagnostic once, in the order of the targets, a blank line between; empty where there is none."""
    parts: dict[Diagnostic | str, str] = {}
    for outcome in outcomes:
        for diagnostic in outcome.diagnostics:
            if diagnostic not in parts:  # a fault in a shared base shows up in every topology that extends it
                parts[diagnostic] = _diagnostic(diagnostic, outcome.topology, lines, colour)
        if outcome.crash:
            parts[outcome.file] = f"{printable(outcome.file)}: {printable(outcome.crash)}"
    return "\n\n".join(parts.values())


def _diagnostic(diagnostic: Diagnostic, topology: Topology | None, lines: Lines, colour: bool) -> str:
    """`file:line:column: CODE message`, then the source line with a caret, the schedule, and the help."""
    file, line, column = diagnostic.location
    code = _painted(diagnostic.code, COLOURS[diagnostic.severity], colour)
    kind = "" if diagnostic.severity == "error" else f"{diagnostic.severity}: "
    place = _painted(f"{printable(file)}:{line}:{column}:", "1", colour)
    parts = [f"{place} {code} {kind}{printable(diagnostic.message)}"]
    source = lines(file)
    if 0 < line <= len(source):
        parts.append(_excerpt(source[line - 1], line, column, colour))
    if diagnostic.schedule:
        notes = slot_notes(topology, diagnostic) if topology else ()
        parts += [f"  {printable(row)}" for row in chart(diagnostic.schedule, notes)]
    if diagnostic.help:
        parts += [
            f"  {_painted('help:', '32', colour)} {printable(text)}" for text in diagnostic.help.split("\n")
        ]
    return "\n".join(parts)


def summary(outcomes: Sequence[Outcome]) -> str:
    """One line a topology, and one over all where there are several."""
    text = [printable(f"{outcome.file}: {_verdict(outcome)}{_note(outcome)}") for outcome in outcomes]
    if len(outcomes) > 1:
        faulty = sum(outcome.faulty for outcome in outcomes)
        text.append(f"{len(outcomes)} topologies, {faulty or 'none'} faulty")
    return "\n".join(text)


def printable(text: str) -> str:
    """The text with what could drive a terminal, or could not be encoded, written as an escape."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _verdict(outcome: Outcome) -> str:
    kinds = ("error", "fault"), ("warning", "warning"), ("advice", "hint")
    counts = [
        _count(sum(diagnostic.severity == severity for diagnostic in outcome.diagnostics), noun)
        for severity, noun in kinds
    ]
    found = ", ".join(text for text in counts if text)
    if outcome.crash:
        return f"{found}, and an internal error" if found else "undecided"
    if outcome.faulty:
        return found
    about = "abstract, sound as far as it goes" if outcome.abstract else "sound"
    about = f"{about} by the chosen codes" if outcome.partial else about
    return f"{about}, {found}" if found else about


def _note(outcome: Outcome) -> str:
    return f"; {outcome.note}" if outcome.note else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}" if number else ""


def _excerpt(source: str, line: int, column: int, colour: bool) -> str:
    """The line under its number and a caret at the column; a long line is cut around the column."""
    start = max(0, column - 1 - WIDEST // 2) if len(source) > WIDEST else 0
    before, after = source[start : column - 1], source[column - 1 : start + WIDEST]
    before = printable(before.expandtabs(4))
    gutter = f"{line:>5} | "
    caret = " " * (len(gutter) + sum(_width(character) for character in before))
    return f"{gutter}{before}{printable(after.expandtabs(4))}\n{caret}{_painted('^', '1;31', colour)}"


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _painted(text: str, style: str, colour: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if colour else text
