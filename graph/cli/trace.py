"""`laneflow trace`: what can be done with trace files as files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from graph.cli.command import UsageError
from graph.cli.terminal import out


class TraceCommand:
    """`merge`: the ranks of a run in one file."""

    help = "join the trace files of a run's ranks into one, on one clock: laneflow trace merge OUT FILE..."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = (
            "Ranks on one machine share a clock; those of several are joined by their wall clocks. "
            "exit codes: 0 written, 2 wrong usage, a file that is no trace, or an OUT that cannot be written"
        )
        parser.add_argument("action", choices=("merge",))
        parser.add_argument("out", metavar="OUT", help="the file to write; it must not exist")
        parser.add_argument("files", nargs="+", metavar="FILE", help="traces of different ranks")

    def run(self, args: Namespace) -> int:
        from graph.cli.traces import read_ranks
        from graph.trace_file import TraceError, write

        if Path(args.out).exists():
            raise UsageError(f"{args.out} exists: OUT comes first, and must be a new file")
        traces = read_ranks(args.files)
        try:
            write(args.out, *traces)
        except TraceError as error:
            raise UsageError(str(error)) from None
        firings = sum(len(trace.spans) for trace in traces)
        out(f"{args.out}: {len(traces)} ranks, {firings} firings")
        return 0


TRACE = TraceCommand()
