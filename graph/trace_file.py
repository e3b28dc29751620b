"""Trace files: a run, or the ranks of one, as JSON that a viewer opens and that `read` gives back whole.

A file is self-contained: its metadata holds the topology that ran and all that is known of each process.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from graph.content import content
from graph.measures import durations_ns
from graph.topology import Topology
from graph.trace import Clock, Process, Span, Trace
from graph.trace_clock import shifts
from graph.trace_events import WORK, Timeline

FORMAT = 1


class TraceError(ValueError):
    """A trace file cannot be read, written or joined with others; the message names it and the mend."""


def write(path: str | Path, *traces: Trace) -> None:
    """Write the traces of one run in one file, on one clock; an older file is replaced once all is written.

    A link is followed; a pipe or a device is written to as it is. Raises `TraceError` where two have the same rank,
    and where the file cannot be written.
    """
    check_ranks([(trace.process.rank, str(path)) for trace in traces])
    ordered = sorted(traces, key=lambda trace: trace.process.rank)
    try:
        if _is_special(path):
            _write_lines(Path(path), ordered)
        else:
            _replace(Path(os.path.realpath(path)), ordered)
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be written: {error.strerror}: name a file in a folder that is there and is yours"
        ) from None


def _replace(file: Path, traces: Sequence[Trace]) -> None:
    temporary = Path(f"{file}.{os.getpid()}.part")
    try:
        _write_lines(temporary, traces)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _write_lines(file: Path, traces: Sequence[Trace]) -> None:
    with file.open("w", encoding="utf-8") as stream:
        for line in _lines(traces):
            stream.write(f"{line}\n")


def _is_special(path: str | Path) -> bool:
    """Whether it is there and neither a file nor a folder: another one in its place would not be the same."""
    there = Path(path)
    return there.exists() and not there.is_file() and not there.is_dir()


def check_writable(path: str | Path) -> None:
    """Raises `TraceError` where no file can be written there: better before a long run than after it."""
    real = Path(os.path.realpath(path))
    if _is_special(path):
        possible = os.access(path, os.W_OK)
    else:
        possible = not real.is_dir() and real.parent.is_dir() and os.access(real.parent, os.W_OK)
    if not possible:
        raise TraceError(f"{path}: cannot be written: name a file in a folder that is there and is yours")


def check_ranks(ranks: Sequence[tuple[int, str]]) -> None:
    """Raises `TraceError` where two of the (rank, file) pairs have the same rank."""
    known: dict[int, str] = {}
    for rank, file in ranks:
        if rank in known:
            raise TraceError(
                f"{file}: its rank is {rank}, as is that of {known[rank]}: ranks of one run differ; "
                "two runs are set side by side by `laneflow report --compare OLD NEW`"
            )
        known[rank] = file


def read(path: str | Path) -> tuple[Trace, ...]:
    """The traces in a file, one a process, by rank; raises `TraceError`."""
    document = _document(path)
    try:
        processes = document["metadata"]["laneflow"]["processes"]
        form = document["metadata"]["laneflow"]["format"]
    except (KeyError, TypeError):
        raise TraceError(
            f"{path}: not a trace of laneflow: write one with `laneflow run ... --trace FILE`"
        ) from None
    if form != FORMAT:
        raise TraceError(
            f"{path}: its format is {form}, not {FORMAT}: read it with the laneflow that wrote it"
        )
    try:
        return tuple(_trace(process, document["traceEvents"]) for process in processes)
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        told = " ".join(str(error).split())[:200]
        raise TraceError(f"{path}: damaged ({type(error).__name__}: {told}): record the run again") from None


def durations(path: str | Path, route: str | None = None) -> dict[str, float]:
    """The median duration of each node that fired, in milliseconds, over all processes of a trace file.

    Of the steps of one route, or of all. Firings that raised are left out. Raises `TraceError`.
    """
    spans = [span for trace in read(path) for span in trace.spans]
    return {node: statistics.median(times) / 1e6 for node, times in durations_ns(spans, route).items()}


# -- writing -------------------------------------------------------------------------------------------------


def _lines(traces: Sequence[Trace]) -> Iterator[str]:
    """The document, an event a line."""
    moved = shifts(traces)
    starts = [span.ready + shift for trace, shift in zip(traces, moved, strict=True) for span in trace.spans]
    origin = min(starts, default=0)
    pids = _distinct_pids(traces)
    zeros = [origin - shift for shift in moved]
    head = {
        "format": FORMAT,
        "processes": [_about(*one) for one in zip(traces, zeros, pids, strict=True)],
    }
    yield f'{{"displayTimeUnit": "ms", "metadata": {{"laneflow": {json.dumps(head)}}}, "traceEvents": ['
    flow = count(1)
    before = ""
    for trace, zero, pid in zip(traces, zeros, pids, strict=True):
        for event in Timeline(trace, zero, pid, flow).events():
            yield before + json.dumps(event)
            before = ","
    yield "]}"


def _distinct_pids(traces: Sequence[Trace]) -> list[int]:
    """The process ids, with others in place of those that occur on several machines."""
    taken: list[int] = []
    for trace in traces:
        free = (pid for pid in count(trace.process.pid) if pid not in taken)
        taken.append(next(free))
    return taken


def _about(trace: Trace, zero: int, pid: int) -> dict[str, Any]:
    return {
        "pid": pid,
        "zero_perf_ns": zero,
        "process": trace.process._asdict(),
        "clock": trace.clock._asdict(),
        "topology": content(trace.topology),
        "fallback": trace.fallback,
        "dims": dict(trace.dims),
        "versions": dict(trace.versions),
        "dropped": dict(trace.dropped),
        "bubbles": trace.bubbles,
        "notes": dict(trace.notes),
    }


# -- reading -------------------------------------------------------------------------------------------------


def _document(path: str | Path) -> Any:
    try:
        return json.loads(Path(path).read_bytes())
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read: {error.strerror}; check the path and its permissions"
        ) from None
    except (ValueError, RecursionError) as error:
        told = " ".join(str(error).split())[:200]
        raise TraceError(f"{path}: not JSON ({told}): give a file that `--trace` wrote") from None


def _trace(about: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> Trace:
    topology = Topology.model_validate(about["topology"])
    lanes = dict(enumerate(topology.lanes, 1))
    firings = (event for event in events if event["pid"] == about["pid"] and event.get("cat") == WORK)
    spans = [_span(event, lanes[event["tid"]], about["zero_perf_ns"]) for event in firings]
    for span in spans:
        _ = (
            topology.nodes[span.node],
            topology.steps_routes()[span.route],
        )  # a KeyError names what is not there
    return Trace(
        topology=topology,
        spans=tuple(sorted(spans, key=lambda span: span.start)),
        clock=Clock(**about["clock"]),
        process=Process(**about["process"]),
        dims=about["dims"],
        fallback=about["fallback"],
        versions=about["versions"],
        dropped=about["dropped"],
        bubbles=about["bubbles"],
        notes=about["notes"],
    )


def _span(event: Mapping[str, Any], lane: str, zero: int) -> Span:
    args = event["args"]
    start = zero + _ns(event["ts"])
    return Span(
        node=event["name"],
        step=args["step"],
        turn=args["turn"],
        route=args["route"],
        lane=lane,
        submitted=zero + _ns(args["submitted_us"]),
        ready=start - _ns(args["waited_us"]),
        start=start,
        end=start + _ns(event["dur"]),
        device=_ns(args["device_us"]) if "device_us" in args else -1,
        rows=tuple((row, generation) for row, generation in args.get("rows", ())),
        error=args.get("error"),
    )


def _ns(microseconds: float) -> int:
    return round(microseconds * 1000)
