"""laneflow, device lane in a process"""

from __future__ import annotations

from benchmarks.peers.laneflow import run_with, where_it_binds
from benchmarks.work import Calls, Work


def run(work: Work) -> Calls:
    with where_it_binds():
        return run_with(work, ["lanes.device.worker=process"])
