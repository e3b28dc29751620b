"""JUnit XML: one suite, one test case a topology."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from graph.render.outcome import Outcome

# Everything that XML 1.0 cannot hold, escaped or not.
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(outcomes: Sequence[Outcome]) -> str:
    """The document. Faults fail a case, the rest goes to its `system-out`, an internal error is an error."""
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(sum(bool(outcome.failing) for outcome in outcomes)),
        "errors": str(sum(bool(outcome.crash) for outcome in outcomes)),
    }
    root = Element("testsuites", counts)
    suite = SubElement(
        root, "testsuite", {"name": "laneflow validate", **counts, "skipped": "0", "time": "0"}
    )
    for outcome in outcomes:
        _case(suite, outcome)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}'


def _case(suite: Element, outcome: Outcome) -> None:
    attributes = {
        "classname": "laneflow.validate",
        "name": _legal(outcome.file),
        "file": _legal(outcome.file),
    }
    case = SubElement(suite, "testcase", {**attributes, "time": "0"})
    failing = outcome.failing
    if failing:
        codes = ", ".join(dict.fromkeys(diagnostic.code for diagnostic in failing))
        failure = SubElement(
            case, "failure", {"type": failing[0].code, "message": f"{len(failing)} found: {codes}"}
        )
        failure.text = _legal("\n".join(map(str, failing)))
    if outcome.crash:
        error = SubElement(case, "error", {"type": "internal error", "message": _legal(outcome.crash)})
        error.text = _legal(outcome.crash)
    rest = [str(diagnostic) for diagnostic in outcome.diagnostics if not outcome.refuses(diagnostic)]
    if rest:
        SubElement(case, "system-out").text = _legal("\n".join(rest))


def _legal(text: str) -> str:
    return ILLEGAL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
