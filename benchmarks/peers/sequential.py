"""sequential loop"""

from __future__ import annotations

from benchmarks.work import Calls, Work, timed


def run(work: Work) -> Calls:
    calls = Calls()
    for _ in range(work.steps):
        timed(work.prepare, calls.prepare)
        timed(work.device, calls.device)
        timed(work.reclaim, calls.reclaim)
    return calls
