"""The device of the workloads: busy for an exact time by its own clock, the interpreter's lock free meanwhile.

A timer of the machine may be late by a quarter of a millisecond, more than the gaps that are measured; so the last
part of a step is spun away, in C. Without a C compiler the device only sleeps, and is late.
"""

from __future__ import annotations

import ctypes
import mmap
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

from benchmarks.work import Body

SOURCE = Path(__file__).with_suffix(".c")
LOOKED_AT = 500
"""Pages."""


def device(nanoseconds: int) -> Body:
    """A body that keeps the device busy; it can be pickled, for use while this process lives."""
    return partial(busy, _library(), nanoseconds)


def is_exact() -> bool:
    """Whether the device does not depend on the machine's timers."""
    return _library() is not None


def busy(library: str | None, nanoseconds: int) -> int:
    """Be busy; returns how long by the device's own clock."""
    if library is None:
        time.sleep(nanoseconds / 1e9)
    else:
        _loaded(library)(nanoseconds)
    return nanoseconds


@cache
def _library() -> str | None:
    """Where the compiled device is; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    made = Path(_folder().name, "device.so")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", made, SOURCE], check=True)
    return str(made)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Gone with the process."""
    return tempfile.TemporaryDirectory(prefix="laneflow-")


@cache
def _loaded(library: str) -> Callable[[int], object]:
    function = ctypes.CDLL(library).device
    function.argtypes, function.restype = (ctypes.c_int64,), None
    return function  # type: ignore[no-any-return]


def bare_gap_us(milliseconds: int, calls: int = 40) -> float:
    """`gap_true` of a loop that does nothing but call the device, in a process with nothing else to do; median."""
    call = device(milliseconds * 10**6)
    starts = []
    for _ in range(calls):
        starts.append(time.perf_counter_ns())
        call()
    gaps = [after - before - milliseconds * 10**6 for before, after in pairwise(starts)]
    return statistics.median(gaps) / 1000


def lost_pages(milliseconds: int, slow_us: int) -> float | None:
    """Of a hundred pages that nobody touches for so long, how many are slow to touch then; None without a compiler."""
    library = _library()
    if library is None:
        return None
    memory = mmap.mmap(-1, LOOKED_AT * mmap.PAGESIZE)
    first = (ctypes.c_char * len(memory)).from_buffer(memory)
    lost, wait, limit = (
        ctypes.CDLL(library).lost,
        ctypes.c_int64(milliseconds * 10**6),
        ctypes.c_int64(slow_us * 1000),
    )
    lost(first, LOOKED_AT, wait, limit)  # the first time around all of them are new
    return statistics.mean(lost(first, LOOKED_AT, wait, limit) for _ in range(20)) * 100 / LOOKED_AT
