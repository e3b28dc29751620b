"""Trace files on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from graph.cli.command import UsageError
from graph.trace import Trace
from graph.trace_file import TraceError, check_ranks, read


def read_ranks(files: Sequence[str]) -> list[Trace]:
    """The traces in all files, by rank; raises `UsageError` where one cannot be read or two have one rank."""
    try:
        found = [(file, trace) for file in files for trace in read(file)]
        check_ranks([(trace.process.rank, file) for file, trace in found])
    except TraceError as error:
        raise UsageError(str(error)) from None
    return sorted((trace for _, trace in found), key=lambda trace: trace.process.rank)
