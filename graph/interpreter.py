"""Interpreter settings that lanes need while a run is alive, restored when the last run ends.

Waking threads wait up to one switch interval for the interpreter lock when another thread runs pure Python; a
full garbage collection stops all threads.
"""

from __future__ import annotations

import gc
import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_INTERVAL_MS = 0.25
SHORTEST_MS = 0.05

_lock = threading.Lock()
_live: list[list[float]] = []
"""One entry a run: the interval it wants, in seconds, or nothing."""
_before: list[float] = []
"""The interval that was set before the first live run that wants another."""


def is_number(value: object) -> bool:
    """Whether an option is a length of time: True and False are numbers to Python, and not meant."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_interval(milliseconds: float) -> None:
    """Raises `ValueError` where it is no length of time, or under 0.05 ms, where switching does not pay."""
    if not is_number(milliseconds) or not SHORTEST_MS <= milliseconds < math.inf:
        raise ValueError(
            f"switch_interval_ms={milliseconds!r}: a switch interval is {SHORTEST_MS} ms or more, or None to leave "
            "that of the interpreter"
        )


@contextmanager
def steady(switch_interval_ms: float | None) -> Iterator[None]:
    """Shorten the switch interval to the least that a live run wants; keep old objects out of collections.

    None leaves the interval alone. Raises `ValueError` as `check_interval` does.
    """
    if switch_interval_ms is not None:
        check_interval(switch_interval_ms)
    own = [] if switch_interval_ms is None else [switch_interval_ms / 1000]
    try:
        _enter(own)
        yield
    finally:
        try:
            _leave(own)
        except BaseException:  # a KeyboardInterrupt; leaving twice is leaving once
            _leave(own)
            raise


def _enter(own: list[float]) -> None:
    with _lock:
        if not _live:
            gc.collect()
            gc.freeze()
        _live.append(own)
        _apply()


def _leave(own: list[float]) -> None:
    with _lock:
        _live[:] = [other for other in _live if other is not own]
        _apply()
        if not _live:
            gc.unfreeze()


def _apply() -> None:
    wanted = [interval for own in _live for interval in own]
    if wanted and not _before:
        _before.append(sys.getswitchinterval())
    if _before:
        # a tenth of a microsecond more, since the interpreter cuts off what is not a whole one
        sys.setswitchinterval(min(wanted + _before) + 1e-7)
    if not wanted:
        _before.clear()
