"""laneflow, idle processors poll"""

from __future__ import annotations

from benchmarks.peers.laneflow import run_with
from benchmarks.work import Calls, Unavailable, Work
from graph import BindError


def run(work: Work) -> Calls:
    try:
        return run_with(work, [], wake_latency_us=0)
    except BindError as error:
        raise Unavailable(str(error)) from error
