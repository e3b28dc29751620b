"""bare ring of locks

The floor of any three threads that wake each other: one lock per hop and slot, as laneflow's lanes have, and nothing
else: no queues, no commands, no results, no errors, no way to stop.
"""

from __future__ import annotations

import threading

from benchmarks.work import Body, Call, Calls, Work, timed


def run(work: Work) -> Calls:
    calls = Calls()

    def locks(held: bool) -> list[threading.Lock]:
        made = [threading.Lock() for _ in range(work.slots)]
        for lock in made:
            if held:
                lock.acquire()
        return made

    free, prepared, computed = locks(False), locks(True), locks(True)

    def stage(body: Body, taken: list[threading.Lock], given: list[threading.Lock], into: list[Call]) -> None:
        for step in range(work.steps):
            slot = step % work.slots
            taken[slot].acquire()
            timed(body, into)
            given[slot].release()

    stages = (
        (work.prepare, free, prepared, calls.prepare),
        (work.device, prepared, computed, calls.device),
        (work.reclaim, computed, free, calls.reclaim),
    )
    threads = [threading.Thread(target=stage, args=each) for each in stages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return calls
