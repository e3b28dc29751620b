"""bare ring, the device in a process

The floor of any lane in a process of its own: a semaphore between processes per hop, and nothing else.
"""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Semaphore
from typing import Protocol

from benchmarks.work import Body, Call, Calls, Work, timed


class Taken(Protocol):
    def acquire(self) -> bool: ...


class Given(Protocol):
    def release(self) -> None: ...


def run(work: Work) -> Calls:
    context = multiprocessing.get_context("spawn")
    calls = Calls()
    free = threading.Semaphore(work.slots)
    prepared, computed, ready = (context.Semaphore(0) for _ in range(3))
    ours, theirs = context.Pipe(duplex=False)
    device = context.Process(target=_device, args=(work, prepared, computed, ready, theirs))
    device.start()
    ready.acquire()
    threads = [
        threading.Thread(target=_stage, args=each)
        for each in (
            (work.prepare, free, prepared, calls.prepare, work.steps),
            (work.reclaim, computed, free, calls.reclaim, work.steps),
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls.device = ours.recv()
    device.join()
    return calls


def _device(
    work: Work, prepared: Semaphore, computed: Semaphore, ready: Semaphore, results: Connection
) -> None:
    calls: list[Call] = []
    ready.release()
    _stage(work.device, prepared, computed, calls, work.steps)
    results.send(calls)


def _stage(body: Body, taken: Taken, given: Given, into: list[Call], steps: int) -> None:
    for _ in range(steps):
        taken.acquire()
        timed(body, into)
        given.release()
