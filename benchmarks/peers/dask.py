"""dask.delayed

The whole run as one graph on the threaded scheduler: order and slots are dependencies between tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import dask

from benchmarks.work import Calls, Work, timed


def run(work: Work) -> Calls:
    calls = Calls()
    prepare = _task(partial(timed, work.prepare, calls.prepare))
    device = _task(partial(timed, work.device, calls.device))
    reclaim = _task(partial(timed, work.reclaim, calls.reclaim))
    prepared: list[Any] = []
    computed: list[Any] = []
    reclaimed: list[Any] = []
    for step in range(work.steps):
        slot = [reclaimed[step - work.slots]] if step >= work.slots else []
        prepared.append(prepare(*prepared[-1:], *slot))
        computed.append(device(prepared[-1], *computed[-1:]))
        reclaimed.append(reclaim(computed[-1], *reclaimed[-1:]))
    dask.compute(reclaimed[-1], scheduler="threads", num_workers=3, optimize_graph=False)
    return calls


def _task(call: Callable[[], None]) -> Any:
    """A delayed call; its arguments are the tasks that it waits for."""

    def body(*before: None) -> None:
        call()

    return dask.delayed(body, pure=False)
