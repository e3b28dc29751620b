"""hand-written threads

Three threads, a `queue.Queue` from each to the next, a semaphore that counts the free slots. Nothing else: no
results, no errors, no way to stop.
"""

from __future__ import annotations

import queue
import threading

from benchmarks.work import Calls, Work, timed


def run(work: Work) -> Calls:
    calls = Calls()
    free = threading.Semaphore(work.slots)
    prepared: queue.Queue[int] = queue.Queue()
    computed: queue.Queue[int] = queue.Queue()

    def host() -> None:
        for step in range(work.steps):
            free.acquire()
            timed(work.prepare, calls.prepare)
            prepared.put(step)

    def device() -> None:
        for _ in range(work.steps):
            step = prepared.get()
            timed(work.device, calls.device)
            computed.put(step)

    def output() -> None:
        for _ in range(work.steps):
            computed.get()
            timed(work.reclaim, calls.reclaim)
            free.release()

    threads = [threading.Thread(target=stage) for stage in (host, device, output)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return calls
