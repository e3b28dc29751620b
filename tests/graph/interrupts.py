"""A KeyboardInterrupt at every line of a call in turn, and Ctrl-C to a run in a process of its own."""

from __future__ import annotations

import linecache
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from graph import Runtime
from tests.fakes import HANG_S

ROOT = Path(__file__).parents[2]
NOT_THERE = (
    "with ",
    "try:",
    "self._leave()",
    "self._forget_lanes()",
    "self._scope.close()",
    "self._processes.",
)
INTERRUPTED = (
    "runtime.py",
    "mains.py",
    "slots.py",
    "admission.py",
    "stepping.py",
    "interpreter.py",
    "process.py",
    "processes.py",
    "shared_step.py",
)


def interrupting(function: Callable[[], None], line: int) -> bool:
    """Call with a KeyboardInterrupt at the line-th line that runs in the runtime; False past the last.

    Left out are lines where the interpreter takes no signal although it traces them (`with`, `try`), and the
    few that nothing in Python can protect: the first of `__enter__` and `__exit__`, and the calls that clean
    up.
    """
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        path = Path(frame.f_code.co_filename)
        if path.parent.name not in ("graph", "lanes") or path.name not in INTERRUPTED:
            return None
        source = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if (
            event == "line"
            and frame.f_code.co_name not in ("__enter__", "__exit__")
            and not source.startswith(NOT_THERE)
        ):
            count += 1
            if count == line:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    assert count < line, "the interrupt was swallowed"
    return False


def submits_interrupted(run: Runtime) -> int:
    """Interrupt `submit` at each of its lines: the step is wholly in the run or wholly out. Returns how many lines."""
    line, interrupted, steps = 0, True, 0
    while interrupted:
        line += 1
        interrupted = interrupting(lambda: run.submit("interrupted"), line)
        result = run.submit("after").result(timeout=HANG_S)
        assert result in (steps, steps + 1)
        steps = result + 1
    for index in range(2 * run.capacity):
        assert run.submit("no room is lost").result(timeout=HANG_S) == steps + index
    assert run.held_slots() == []
    return line


TELLING = """
    import signal, sys, threading
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored

    def tell(tickets):
        lanes = [thread.name for thread in threading.enumerate() if thread.name.startswith("laneflow-")]
        done = sum(ticket.done() for ticket in tickets)
        finished = sum(ticket.exception() is None for ticket in tickets)
        print("lanes", lanes, "done", done, "finished", finished < 20, flush=True)
"""


def after_ctrl_c(script: str, name: str, signals: int) -> tuple[str, str]:
    """Output and errors of a script that prints `ready`, gets so many Ctrl-C and ends by `tell(tickets)`."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(TELLING) + textwrap.dedent(script), name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    for _ in range(signals):
        child.send_signal(signal.SIGINT)
        try:
            child.wait(0.3)
        except subprocess.TimeoutExpired:
            continue
    out, err = child.communicate(timeout=HANG_S)
    return out, err
