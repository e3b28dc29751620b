"""Interpreter settings that lanes need while a run is alive, restored when the last run ends.

Waking threads wait up to one switch interval for the interpreter lock when another thread runs pure Python; a full
garbage collection stops all threads.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_INTERVAL_MS = 0.5
SHORTEST_MS = 0.05

_lock = threading.Lock()
_wanted: list[float] = []
_before: list[float] = []


@contextmanager
def steady(switch_interval_ms: float | None) -> Iterator[None]:
    """Shorten the switch interval to the shortest wanted by any live run, and keep old objects out of collections.

    None leaves the interval alone. Raises `ValueError` under 0.05 ms, where switching costs more than it gives.
    """
    if switch_interval_ms is not None and switch_interval_ms < SHORTEST_MS:
        raise ValueError(f"a switch interval of {switch_interval_ms} ms is under {SHORTEST_MS} ms")
    own = sys.getswitchinterval() if switch_interval_ms is None else switch_interval_ms / 1000
    with _lock:
        if not _wanted:
            _before[:] = [sys.getswitchinterval()]
            gc.collect()
            gc.freeze()
        _wanted.append(own)
        sys.setswitchinterval(min(*_wanted, _before[0]))
    try:
        yield
    finally:
        with _lock:
            _wanted.remove(own)
            if _wanted:
                sys.setswitchinterval(min(*_wanted, _before[0]))
            else:
                sys.setswitchinterval(_before[0])
                gc.unfreeze()
