"""ThreadPoolExecutor futures

A pool of one thread for each body; a task waits for the future of the body before it, and the loop that submits
waits for the step that gives its slot back.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from benchmarks.work import Body, Call, Calls, Work, timed


def run(work: Work) -> Calls:
    calls = Calls()

    def after(before: Future[None], body: Body, kept: list[Call]) -> None:
        before.result()
        timed(body, kept)

    with ThreadPoolExecutor(1) as host, ThreadPoolExecutor(1) as device, ThreadPoolExecutor(1) as output:
        under_way: deque[Future[None]] = deque()
        for _ in range(work.steps):
            if len(under_way) == work.slots:
                under_way.popleft().result()
            prepared = host.submit(timed, work.prepare, calls.prepare)
            computed = device.submit(after, prepared, work.device, calls.device)
            under_way.append(output.submit(after, computed, work.reclaim, calls.reclaim))
        for step in under_way:
            step.result()
    return calls
