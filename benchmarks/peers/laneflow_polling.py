"""laneflow, idle processors poll, the interpreter's own switch interval"""

from __future__ import annotations

from benchmarks.peers.laneflow import run_with, where_it_binds
from benchmarks.work import Calls, Work


def run(work: Work) -> Calls:
    with where_it_binds():
        return run_with(work, [], wake_latency_us=0, switch_interval_ms=None)
