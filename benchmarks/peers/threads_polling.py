"""hand-written threads, idle processors poll

As `threads`, with the kernel asked for the same as in `laneflow_polling`.
"""

from __future__ import annotations

from benchmarks.peers import threads
from benchmarks.work import Calls, Unavailable, Work
from graph import BindError
from graph.wake_latency import waking_within


def run(work: Work) -> Calls:
    try:
        with waking_within(0):
            return threads.run(work)
    except BindError as error:
        raise Unavailable(str(error)) from error
