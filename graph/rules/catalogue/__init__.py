"""What every code means, from one Markdown page a code: `LF205.md` beside this file.

A page is a title line, the meaning, and two fenced topologies, `faulty` and `mended`. A rule that is judged
when a topology is bound has an `executor` block as well: the Python that the two are bound to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from graph.diagnostics import Severity

SEVERITIES: Mapping[str | None, Severity] = {None: "error", "warning": "warning", "advice": "advice"}

TITLE = re.compile(r"# (LF\d{3})(?: \((warning|advice)\))?: (.+)")
BLOCK = re.compile(r"^```(?:yaml|python) (faulty|mended|executor)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Rule:
    """One code's page. `executor` is empty for a rule that a file alone decides."""

    code: str
    severity: Severity
    title: str
    meaning: str
    faulty: str
    mended: str
    executor: str = ""


@cache
def catalogue() -> Mapping[str, Rule]:
    """Every rule, in the order of the codes."""
    pages = (page for page in resources.files(__name__).iterdir() if page.name.endswith(".md"))
    rules = (_rule(page.read_text("utf-8")) for page in sorted(pages, key=lambda page: page.name))
    return {rule.code: rule for rule in rules}


def _rule(page: str) -> Rule:
    first, _, body = page.partition("\n")
    title = TITLE.fullmatch(first)
    if title is None:
        raise ValueError(f"not the title of a rule's page: {first!r}")
    code, severity, words = title.groups()
    blocks = {match[1]: match[2] for match in BLOCK.finditer(body)}
    meaning = body.partition("```")[0].strip()
    return Rule(
        code,
        SEVERITIES[severity],
        words,
        meaning,
        blocks["faulty"],
        blocks["mended"],
        blocks.get("executor", ""),
    )
