"""`laneflow validate`: whether topologies are sound, as they will run."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace

from graph.cli.checking import Check
from graph.cli.command import UsageError
from graph.cli.selection import Selection
from graph.cli.sources import Sources
from graph.cli.targets import expand, split_words
from graph.cli.terminal import coloured, err, out
from graph.node import Executor
from graph.render import github, json, junit, sarif, text
from graph.render.outcome import Outcome

DOCUMENTS = {"json": json.render, "sarif": sarif.render, "github": github.render, "junit": junit.render}


class Validate:
    """Diagnostics go to stderr, verdicts to stdout; a machine's format is one document on stdout."""

    help = "prove that topologies are sound, or say why they are not"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = (
            "exit codes: 0 sound, 1 a fault in a file, or one that --fix cannot write, "
            "2 wrong usage or no such file"
        )
        parser.add_argument(
            "words",
            nargs="+",
            metavar="TARGET|key=value",
            help="a file, a shipped topology's name, a folder, a glob, or - for standard input; "
            "a word such as buffers.inputs.slots=3 overrides that value in every target",
        )
        parser.add_argument("--format", choices=("text", *DOCUMENTS), default="text")
        parser.add_argument(
            "--select",
            action="append",
            default=[],
            metavar="CODES",
            help="only LF0 and these codes: LF205,LF3",
        )
        parser.add_argument("--ignore", action="append", default=[], metavar="CODES", help="not these codes")
        parser.add_argument("--strict", action="store_true", help="warnings fail, too")
        parser.add_argument(
            "--bind", metavar="MODULE:PIPELINE", help="check the files against this executor as well"
        )
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--fix", action="store_true", help="write the proposed mends into the files")
        change.add_argument(
            "--diff", action="store_true", help="show what --fix would change, and change nothing"
        )

    def run(self, args: Namespace) -> int:
        targets, overrides = split_words(args.words)
        if not targets:
            raise UsageError("validate needs a target: a file, a folder, a shipped name, or -")
        if overrides and (args.fix or args.diff):
            raise UsageError("--fix and --diff mend the files as they are written: leave the overrides out")
        files, selection, sources = expand(targets), Selection.parse(args.select, args.ignore), Sources()
        check = Check(sources, overrides, _executor(args.bind) if args.bind else None)
        written = _change(sources, files, args) if args.fix or args.diff else True
        outcomes = [
            _narrowed(outcome, selection, args.strict) for file in files for outcome in check.outcomes(file)
        ]
        if args.format == "text":
            _report(outcomes, sources)
        elif document := DOCUMENTS[args.format](outcomes):
            out(document)
        return int(not written or any(outcome.faulty for outcome in outcomes))


def _executor(reference: str) -> Executor:
    from graph.cli.executor import named_executor  # a plain validation imports no user's code

    return named_executor(reference)


def _change(sources: Sources, files: Sequence[str], args: Namespace) -> bool:
    """Mend the files or show how; False where the system let one not be written."""
    from graph.cli.fixing import (
        NotFixed,
        NotWritten,
        difference,
        fix,
    )  # only here are mends searched for all faults together

    written = True
    tell = out if args.diff and args.format == "text" else err
    for file in files:
        try:
            if told := (fix if args.fix else difference)(sources, file):
                tell(told)
        except NotFixed as error:
            err(str(error))
            written = written and not isinstance(error, NotWritten)
    return written


def _narrowed(outcome: Outcome, selection: Selection, strict: bool) -> Outcome:
    kept = tuple(diagnostic for diagnostic in outcome.diagnostics if selection.keeps(diagnostic.code))
    return replace(outcome, diagnostics=kept, strict=strict, partial=selection.narrows)


def _report(outcomes: Sequence[Outcome], sources: Sources) -> None:
    if found := text.render(outcomes, sources.lines, coloured(sys.stderr)):
        err(f"{found}\n")
        sys.stderr.flush()
    out(text.summary(outcomes))


VALIDATE = Validate()
