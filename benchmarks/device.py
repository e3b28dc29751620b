"""The device of the workloads: busy for an exact time by its own clock, the interpreter's lock free meanwhile.

A timer of the machine may be late by a quarter of a millisecond, more than the gaps that are measured; so the last
part of a step is spun away, in C. Without a C compiler the device only sleeps, and is late.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from benchmarks.work import Body

SOURCE = Path(__file__).with_suffix(".c")


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
