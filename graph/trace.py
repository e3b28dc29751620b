"""What happened in a run: one span per firing, kept by the lane that ran it, and what is needed to read them
later."""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from graph.topology import Topology

SPANS_KEPT = 200_000
"""Per lane: the newest are kept, so that a run of any length has bounded memory."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Span(NamedTuple):
    """One firing; times are `time.perf_counter_ns` of its process."""

    node: str
    step: int
    turn: int
    """Of the step's arrival: bubbles count. Of a buffer with N slots the step has slot `turn % N`."""
    route: str
    lane: str
    submitted: int
    """When the step was handed in."""
    ready: int
    """When the lane came to the node: from here to `start` it waited."""
    start: int
    end: int
    device: int
    """How long the device worked, by its own clock, in nanoseconds; -1 where it has none."""
    rows: tuple[tuple[int, int], ...]
    """(row, generation) of each request that the step touches."""
    error: str | None
    """What the node raised, as `StepError` tells it."""


Spans = deque[tuple[Any, ...]]
"""A lane's own buffer: the fields of a `Span`, as a plain tuple, which is cheaper to make."""


class Clock(NamedTuple):
    """Two clocks read at one moment, so that times of several processes can be joined."""

    perf_ns: int
    """`time.perf_counter_ns`."""
    unix_ns: int
    """`time.time_ns`."""
    boot: str | None
    """Names the running kernel: processes with the same one share the first clock. None where it has no
    name."""


class Process(NamedTuple):
    """Which process a trace is of; `rank` tells those of one run apart."""

    pid: int
    rank: int
    host: str


@dataclass(frozen=True)
class Trace:
    """A run of one process as it was recorded."""

    topology: Topology
    """The one that ran: the fallback where `fallback` says so."""
    spans: tuple[Span, ...]
    """In order of start."""
    clock: Clock
    process: Process
    dims: Mapping[str, int] = field(default_factory=dict)
    fallback: str | None = None
    """Why the fallback ran, if it did."""
    versions: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Firings that no longer have a span, by lane."""
    bubbles: int = 0
    notes: Mapping[str, str] = field(default_factory=dict)
    """What the run had changed of the interpreter and the machine, and what the application has to say of it: another
    way that it took, and why."""


def collect(lanes: Iterable[Spans]) -> list[Span]:
    """The spans of all lanes in order of their start."""
    return sorted((Span._make(span) for spans in lanes for span in tuple(spans)), key=lambda span: span.start)


def read_clock() -> Clock:
    """The clocks now; of a few readings the one between whose halves least time went by."""
    readings = [(time.perf_counter_ns(), time.time_ns(), time.perf_counter_ns()) for _ in range(5)]
    before, unix, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return Clock((before + after) // 2, unix, _boot())


def _boot() -> str | None:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return None


def this_process(rank: int) -> Process:
    """This process, as `rank` of its run."""
    return Process(os.getpid(), rank, socket.gethostname())


def settings(switch_interval_ms: float | None, wake_latency_us: int | None) -> dict[str, str]:
    """What a run changes of the interpreter and the machine, in words."""
    changed = {} if switch_interval_ms is None else {"switch interval": f"{switch_interval_ms:g} ms"}
    return changed if wake_latency_us is None else {**changed, "wake latency": f"{wake_latency_us} us"}


def versions() -> dict[str, str]:
    """What ran: laneflow, Python, and torch where it is loaded."""
    found = {"laneflow": _installed("laneflow"), "python": platform.python_version()}
    return {**found, "torch": _installed("torch")} if "torch" in sys.modules else found


def _installed(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
