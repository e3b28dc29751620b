"""`laneflow report`: what recorded runs show, what a change did to them, whether they are as they must be."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graph.cli.command import UsageError
from graph.cli.terminal import err, out

if TYPE_CHECKING:
    from graph.report import Report


class ReportCommand:
    """The report on stdout, assertions that fail on stderr."""

    help = "report the figures of recorded runs: period, gaps, overlap, stalls; assert them, compare two"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = (
            "exit codes: 0 reported, 1 an assertion fails, "
            "2 wrong usage, no such figure, or a file that is no trace"
        )
        parser.add_argument(
            "traces", nargs="*", metavar="TRACE", help="a trace file; several are the ranks of one run"
        )
        parser.add_argument(
            "--route", metavar="NAME", help="steps of this route; by default the first declared"
        )
        parser.add_argument(
            "--assert",
            dest="assertions",
            nargs="+",
            action="extend",
            default=[],
            metavar="ASSERTION",
            help="FIGURE OP NUMBER, as in 'overlap.prepare == 1' 'gap.median_ms < 0.4'; all must hold",
        )
        parser.add_argument(
            "--compare",
            nargs=2,
            metavar=("OLD", "NEW"),
            help="the figures of two runs before and after a change; assertions are about NEW",
        )
        parser.add_argument(
            "--json", action="store_true", help="as one JSON object, with the figures by name"
        )
        parser.add_argument("--figures", action="store_true", help="list the names of the figures, and stop")

    def run(self, args: Namespace) -> int:
        from graph.render.report import as_dict, compare, render

        if args.figures:
            out(_meanings())
            return 0
        if bool(args.traces) == bool(args.compare):
            raise UsageError("report takes trace files, or --compare OLD NEW")
        reports = [_report([file], args.route) for file in args.compare or ()]
        found = reports or [_report(args.traces, args.route)]
        failures = _failures(args.assertions, found[-1])
        if args.json:
            shown = [as_dict(one) for one in found]
            out(json.dumps({"before": shown[0], "after": shown[1]} if args.compare else shown[0], indent=2))
        else:
            out(compare(*reports) if args.compare else render(found[0]))
        for failure in failures:
            err(f"laneflow: {failure}")
        return int(bool(failures))


def _report(files: Sequence[str], route: str | None) -> Report:
    """Raises `UsageError` for what is no trace, ranks that do not belong together, and an unknown route."""
    from graph.cli.traces import read_ranks
    from graph.diagnostics import TopologyError
    from graph.report import report

    try:
        return report(*read_ranks(files), route=route)
    except (ValueError, TopologyError) as error:
        raise UsageError(f"{', '.join(files)}: {error}") from None


def _failures(texts: Sequence[str], found: Report) -> list[str]:
    from graph.assertions import AssertionFormError, parse
    from graph.figures import figures

    try:
        told = [parse(text).failure(figures(found)) for text in texts]
    except AssertionFormError as error:
        raise UsageError(str(error)) from None
    return [failure for failure in told if failure is not None]


def _meanings() -> str:
    from graph.figures import MEANINGS, SPREADS

    wide = max(map(len, MEANINGS))
    lines = [f"{name:{wide}}  {meaning}" for name, meaning in MEANINGS.items()]
    return "\n".join([*lines, f"* is one of {', '.join(SPREADS)}"])


REPORT = ReportCommand()
