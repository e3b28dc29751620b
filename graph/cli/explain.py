"""`laneflow explain`: what a code means, with a faulty and a mended topology."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser, Namespace

from graph.cli.command import UsageError
from graph.cli.terminal import out
from graph.rules.catalogue import Rule, catalogue


class Explain:
    """The page of one code, or one line for each of them."""

    help = "explain a code of a diagnostic; without one, list all"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("code", nargs="?", metavar="CODE", help="as in LF205")

    def run(self, args: Namespace) -> int:
        if args.code is None:
            out("\n".join(_heading(rule) for rule in catalogue().values()))
            return 0
        out(_page(_find(args.code.upper())))
        return 0


def _find(code: str) -> Rule:
    rule = catalogue().get(code)
    if rule is None:
        close = difflib.get_close_matches(code, catalogue(), 1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else "`laneflow explain` lists them"
        raise UsageError(f"no code `{code}`; {hint}")
    return rule


def _heading(rule: Rule) -> str:
    kind = "" if rule.severity == "error" else f"{rule.severity}: "
    return f"{rule.code}  {kind}{rule.title}"


def _page(rule: Rule) -> str:
    blocks = [("Faulty:", rule.faulty), ("Mended:", rule.mended), ("Bound to:", rule.executor)]
    shown = [f"{title}\n\n{_indented(text)}" for title, text in blocks if text]
    return "\n\n".join([_heading(rule), rule.meaning, *shown])


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip().split("\n"))


EXPLAIN = Explain()
