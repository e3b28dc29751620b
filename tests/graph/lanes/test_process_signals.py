"""Signals to the process of a run: its children neither outlive it nor hear what is meant for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes import HANG_S, until
from tests.graph.lanes.driving import alive, names_left

pytestmark = pytest.mark.usefixtures("nothing_left")

ROOT = Path(__file__).parents[3]

SCRIPT = """
    import os, signal, sys, threading
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
    from graph import Runtime, RuntimeStopped, compile, load
    from nodes.simulated import simulated

    def main():
        topology = load("pingpong", [f"lanes.{lane}.worker=process" for lane in sys.argv[1].split(",")])
        executor = simulated(topology, {"prepare": 0, "reclaim": 0, "dispatch": float(sys.argv[2])}, holds_lock=False)
        tickets = []
        try:
            with Runtime(compile(topology), executor, queue=20) as run:
                pids = [lane._process.pid for lane in run._processes.lanes.values()]
                tickets = [run.submit(index) for index in range(20)]
                tickets[0].result()
                names = [ring[0][0]._semlock.name for ring in run._processes.rings.values()]
                print("ready", ",".join(map(str, pids)), *names, flush=True)
                tickets[-1].result()
                raise SystemExit("the interrupt never came")
        except KeyboardInterrupt:
            lanes = [thread.name for thread in threading.enumerate() if thread.name.startswith("laneflow-")]
            done = sum(ticket.done() for ticket in tickets)
            finished = sum(ticket.exception() is None for ticket in tickets)
            print("lanes", lanes, "done", done, "finished", 0 < finished < 20, flush=True)

    if __name__ == "__main__":
        main()
"""


class Started(NamedTuple):
    """A run in a process of its own, the processes of its lanes, and the names of its semaphores."""

    parent: subprocess.Popen[str]
    pids: list[int]
    names: list[str]


def started(tmp_path: Path, lanes: str, dispatch_ms: float) -> Started:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    parent = subprocess.Popen(
        [sys.executable, str(script), lanes, str(dispatch_ms)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    assert parent.stdout is not None
    word, pids, names = parent.stdout.readline().split(" ", 2)
    assert word == "ready"
    return Started(parent, [int(pid) for pid in pids.split(",")], names.split())


def test_no_process_outlives_a_parent_that_was_killed(tmp_path: Path) -> None:
    run = started(tmp_path, "host,device", 60.0)
    assert names_left(run.names) == run.names
    run.parent.kill()
    run.parent.communicate(timeout=HANG_S)
    until(lambda: not any(alive(pid) for pid in run.pids), "the children are gone")
    until(lambda: names_left(run.names) == [], "the names are gone")


def test_ctrl_c_reaches_children_only_through_the_run(tmp_path: Path) -> None:
    """A terminal sends it to the whole group."""
    run = started(tmp_path, "host,device", 40.0)
    os.killpg(run.parent.pid, signal.SIGINT)
    out, err = run.parent.communicate(timeout=HANG_S)
    assert out == "lanes [] done 20 finished True\n", err
    assert err == ""
    assert not any(alive(pid) for pid in run.pids)
    assert names_left(run.names) == []
