"""laneflow, idle processors poll, the interpreter's own switch interval"""

from __future__ import annotations

from benchmarks.peers.laneflow import run_with
from benchmarks.work import Calls, Unavailable, Work
from graph import BindError


def run(work: Work) -> Calls:
    try:
        return run_with(work, [], wake_latency_us=0, switch_interval_ms=None)
    except BindError as error:
        raise Unavailable(str(error)) from error
