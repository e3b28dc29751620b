"""hand-written threads, idle processors poll

As `threads`, with the kernel asked for the same as in `laneflow_polling`.
"""

from __future__ import annotations

from benchmarks.peers import threads
from benchmarks.peers.laneflow import where_it_binds
from benchmarks.work import Calls, Work
from graph.wake_latency import waking_within


def run(work: Work) -> Calls:
    with where_it_binds(), waking_within(0):
        return threads.run(work)
