"""The CUDA queue on a device, in place of the fake that `test_cuda_queue` has. Not yet run on hardware."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import perf_counter_ns

import pytest
import torch

from graph import Runtime, StepError, Unfinished, compile, load
from graph.lanes.cuda_queue import CudaMark, CudaQueue
from nodes.simulated import simulated
from tests.fakes import HANG_S
from tests.graph.lanes.test_cuda_queue import settled

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.usefixtures("nothing_left"),
]

MS = 1_000_000
ROOT = Path(__file__).parents[3]


@pytest.fixture
def queue() -> Iterator[CudaQueue]:
    made = CudaQueue("device", "cuda")
    yield made
    made.close()


def stay(queue: CudaQueue, milliseconds: float) -> CudaMark:
    with queue.launching():
        queue.busy(milliseconds / 1e3)
    return queue.mark()


def test_a_launch_does_not_wait_and_marks_come_in_order(queue: CudaQueue) -> None:
    settled(stay(queue, 1))  # measures the clock's rate
    first, second = stay(queue, 200), stay(queue, 200)
    assert (first.wait(0), second.wait(0)) == (False, False)
    assert second.wait(HANG_S)
    assert first.wait(0)


def test_calls_launched_ahead_have_hardly_a_gap_and_take_their_time(queue: CudaQueue) -> None:
    settled(stay(queue, 1))
    intervals = [settled(mark) for mark in [stay(queue, 20) for _ in range(10)]]
    assert max(later[0] - earlier[1] for earlier, later in pairwise(intervals)) < 0.05 * MS
    assert [end - began for began, end in intervals] == pytest.approx([20 * MS] * 10, rel=0.2)


def test_the_clock_stays_with_the_hosts(queue: CudaQueue) -> None:
    settled(stay(queue, 1))
    for _ in range(50):
        launched = perf_counter_ns()
        began, ended = settled(stay(queue, 5))
        assert launched <= began < ended <= perf_counter_ns()


def test_the_steady_loop_makes_no_event(queue: CudaQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    def loop() -> None:
        for mark in [stay(queue, 0.1) for _ in range(2)]:
            settled(mark)

    loop()
    monkeypatch.setattr(torch.cuda, "Event", None)
    for _ in range(100):
        loop()


def test_a_kernel_that_does_not_end_in_time_is_unfinished() -> None:
    source = load("pingpong", ["lanes.device.worker=stream", "costs.dispatch=1500"])
    with Runtime(compile(source), simulated(source), device="cuda", completion_timeout=0.3) as run:
        error = run.submit(0).exception(timeout=HANG_S)
    assert isinstance(error, StepError)
    assert isinstance(error.cause, Unfinished)
    assert {name for name, _, _ in run.quarantined} >= {"inputs", "outputs"}


LOSING = """
    import torch
    from graph import Runtime, compile, load
    from graph.errors import DeviceLost
    from nodes import DispatchNode
    from nodes.simulated import simulated

    class Losing(DispatchNode):
        def run(self, step, slots):
            index = torch.full((8,), 10 ** 9 if step.index == 3 else 0).to("cuda", non_blocking=True)
            torch.zeros(8, device="cuda")[index]  # out of range: a device-side assertion, which loses the context
            return step.index

    source = load("pingpong", ["lanes.device.worker=stream", "costs.prepare=0", "costs.reclaim=0"])
    executor = simulated(source)
    executor.nodes["dispatch"] = Losing()
    found = []
    try:
        with Runtime(compile(source), executor, device="cuda", queue=9) as run:
            found = [run.submit(index) for index in range(8)]
            kinds = [type(one.exception(30)).__name__ for one in found]
    except DeviceLost:
        print(kinds[:2], kinds[3], type(found[3].exception().cause).__name__)  # step 2 may be under way
"""


def test_an_assertion_of_a_kernel_loses_the_context_and_ends_the_run_in_order() -> None:
    """In a process of its own, which cannot use the device any more."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LOSING)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "['NoneType', 'NoneType'] StepError DeviceLost\n", done.stderr[-2000:]
