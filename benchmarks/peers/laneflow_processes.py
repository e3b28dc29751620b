"""laneflow, host and output lanes in processes"""

from __future__ import annotations

from benchmarks.peers.laneflow import run_with, where_it_binds
from benchmarks.work import Calls, Work


def run(work: Work) -> Calls:
    with where_it_binds():
        return run_with(work, ["lanes.host.worker=process", "lanes.output.worker=process"])
