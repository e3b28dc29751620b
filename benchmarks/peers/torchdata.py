"""torchdata.nodes

A `ParallelMapper` of one thread for each body. The library has no slots: the bodies take and give back a
semaphore.
"""

from __future__ import annotations

import threading

from torchdata.nodes import IterableWrapper, Loader, ParallelMapper

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

    node = IterableWrapper(range(work.steps))
    for stage in (host, device, output):
        node = ParallelMapper(node, stage, num_workers=1, method="thread", in_order=True)
    for _ in Loader(node):
        pass
    return calls
