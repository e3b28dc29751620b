"""pypeln

Stages of `pypeln.thread` with one worker each. The library has no slots: the bodies take and give back a
semaphore.
"""

from __future__ import annotations

import threading

import pypeln

from benchmarks.work import Calls, Work, timed


def run(work: Work) -> Calls:
    calls = Calls()
    free = threading.Semaphore(work.slots)

    def host(step: int) -> int:
        free.acquire()
        timed(work.prepare, calls.prepare)
        return step

    def device(step: int) -> int:
        timed(work.device, calls.device)
        return step

    def output(step: int) -> int:
        timed(work.reclaim, calls.reclaim)
        free.release()
        return step

    stage = range(work.steps)
    for body in (host, device, output):
        stage = pypeln.thread.map(body, stage, workers=1)
    for _ in stage:
        pass
    return calls
