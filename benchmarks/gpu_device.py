"""The device of the benchmark on a GPU: a CUDA device with matrix products for work, or the CPU's stand-in for one.

On CUDA: not yet run on hardware.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from graph.lanes.cpu_queue import CpuQueue
from graph.lanes.queue import Interval, Mark, Queue, queue_maker

PRODUCTS = 4
"""Of a step: few, since each launch may cost the launching thread its turn in the interpreter."""
SETTLE_S = 60.0
"""Longest wait for a step."""


@dataclass(frozen=True)
class Kernel:
    """The device's work of one step. `launch` puts it on a queue, `milliseconds` is how long it takes."""

    launch: Callable[[Queue], None]
    milliseconds: float


class Device(Protocol):
    name: str
    """As a run is told it."""

    def queue(self, lane: str) -> Queue: ...

    def kernel(self, milliseconds: float) -> Kernel:
        """Work of about that length, measured; 0 is none."""

    def wait(self, mark: Mark) -> None:
        """Until the queue that has just been marked comes to the mark, as code does that launches and waits."""

    def about(self) -> dict[str, str]:
        """What the figures depend on."""


def nothing(queue: Queue) -> None:
    """A step without work."""


def launch_and_wait(device: Device, queue: Queue, kernel: Kernel) -> Interval:
    """One step by a thread that waits for it; when it ran, by the device's clock."""
    with queue.launching():
        kernel.launch(queue)
        mark = queue.mark()
        device.wait(mark)
    if not mark.wait(SETTLE_S):
        raise TimeoutError(f"a step has not ended after {SETTLE_S:g} s")
    found = mark.interval()
    if found is None:
        raise RuntimeError("the queue has no clock")
    return found


class StandIn:
    """A queue on the CPU that is busy by a clock of its own."""

    name = "cpu"

    def queue(self, lane: str) -> Queue:
        return CpuQueue(lane)

    def kernel(self, milliseconds: float) -> Kernel:
        if milliseconds == 0:
            return Kernel(nothing, 0.0)
        return Kernel(lambda queue: queue.busy(milliseconds / 1e3), milliseconds)

    def wait(self, mark: Mark) -> None:
        mark.wait(SETTLE_S)

    def about(self) -> dict[str, str]:
        return {"device": "stand-in on the CPU, no figure of a GPU", "torch": torch.__version__, **host()}


class Cuda:
    """Matrix products in float32, of a size that is found by timing them with events."""

    def __init__(self, name: str = "cuda") -> None:
        self.name = name

    def queue(self, lane: str) -> Queue:
        return queue_maker(self.name)(lane, self.name)

    def kernel(self, milliseconds: float) -> Kernel:
        if milliseconds == 0:
            return Kernel(nothing, 0.0)
        size = 512
        for _ in range(4):
            took = self._milliseconds(Products(size, self.name))
            size = max(64, 32 * round(size * (milliseconds / took) ** (1 / 3) / 32))
        found = Products(size, self.name)
        return Kernel(lambda queue: queue.enqueue(found), self._milliseconds(found))

    def _milliseconds(self, work: Callable[[], None], times: int = 8) -> float:
        """Of one of so many steps behind each other; those before are for the device's clock to speed up."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        for event in (begin, end):
            for _ in range(times):
                work()
            event.record(torch.cuda.current_stream(self.name))
        end.synchronize()
        return float(begin.elapsed_time(end)) / times

    def wait(self, mark: Mark) -> None:
        torch.cuda.current_stream(self.name).synchronize()

    def about(self) -> dict[str, str]:
        return {
            "device": torch.cuda.get_device_name(self.name),
            "driver": driver(),
            "torch": torch.__version__,
            "CUDA": str(torch.version.cuda),
            **host(),
        }


class Products:
    """Launches `PRODUCTS` products of square matrices on the current stream."""

    def __init__(self, size: int, device: str) -> None:
        torch.manual_seed(0)
        self.one, self.other = (torch.rand(size, size, device=device) for _ in range(2))
        self.out = torch.empty(size, size, device=device)
        torch.cuda.synchronize(device)  # they are made on another stream than they are used on

    def __call__(self) -> None:
        for _ in range(PRODUCTS):
            torch.mm(self.one, self.other, out=self.out)


def host() -> dict[str, str]:
    return {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}


def driver() -> str:
    """As nvidia-smi tells it."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "unknown (no nvidia-smi)"
    words = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.split()
    return lines[0] if lines else f"unknown (nvidia-smi ended with {done.returncode})"
