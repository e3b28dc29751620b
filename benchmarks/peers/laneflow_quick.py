"""laneflow, switch interval 0.1 ms"""

from __future__ import annotations

from benchmarks.peers.laneflow import run_with
from benchmarks.work import Calls, Work


def run(work: Work) -> Calls:
    return run_with(work, [], switch_interval_ms=0.1)
