"""laneflow, host and output lanes in processes"""

from __future__ import annotations

from benchmarks.peers.laneflow import run_with
from benchmarks.work import Calls, Unavailable, Work
from graph import BindError


def run(work: Work) -> Calls:
    try:
        return run_with(work, ["lanes.host.worker=process", "lanes.output.worker=process"])
    except BindError as error:
        raise Unavailable(str(error)) from error
