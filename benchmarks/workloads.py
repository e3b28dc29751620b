"""What the peers are measured with: how long each body takes, and of what kind its work is.

Host work is Python that holds the interpreter lock, for a time of its thread's own processor clock. The device
leaves the lock free: it is busy by its own clock, or it is a matrix product in torch on one thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from benchmarks.device import device
from benchmarks.work import Body, Work

PRODUCT_MS = 5.0


@dataclass(frozen=True)
class Workload:
    """Times in milliseconds; `product` has the device compute instead of sleep."""

    name: str
    summary: str
    prepare_ms: float
    device_ms: float
    reclaim_ms: float
    steps: int
    product: bool = False
    stray: bool = False
    """Whether a thread of pure Python runs beside it in the peer's process."""

    def work(self, steps: int, size: int) -> Work:
        """The bodies; `size` is that of the product (see `product_size`)."""
        own = device(_nanoseconds(self.device_ms)) if self.device_ms else nothing
        middle = partial(multiply, size) if self.product else own
        return Work(_spinning(self.prepare_ms), middle, _spinning(self.reclaim_ms), steps)


WORKLOADS = {
    one.name: one
    for one in (
        Workload("W1", "4.4 ms Python, 45 ms device, 2 ms Python", 4.4, 45.0, 2.0, steps=40),
        Workload("W2", "0.8 ms Python, 1 ms device, 0.5 ms Python", 0.8, 1.0, 0.5, steps=500),
        Workload("W3", "empty bodies", 0.0, 0.0, 0.0, steps=4000),
        Workload("W4", "1.5 ms Python, a 5 ms torch product, 0.5 ms Python", 1.5, PRODUCT_MS, 0.5, 200, True),
    )
}
WORKLOADS["W1-stray"] = replace(
    WORKLOADS["W1"], name="W1-stray", summary="W1 beside a stray thread of pure Python", stray=True
)


def _spinning(milliseconds: float) -> Body:
    return partial(spin, _nanoseconds(milliseconds)) if milliseconds else nothing


def _nanoseconds(milliseconds: float) -> int:
    return round(milliseconds * 1e6)


def nothing() -> int:
    """An empty body."""
    return 0


def spin(nanoseconds: int) -> int:
    """Python at work, for so long on the processor."""
    end = time.thread_time_ns() + nanoseconds
    while time.thread_time_ns() < end:
        pass
    return 0


def multiply(size: int) -> int:
    """A product of two matrices; its own time is that of the processor."""
    torch, one, other, out = _operands(size)
    start = time.thread_time_ns()
    torch.mm(one, other, out=out)
    return time.thread_time_ns() - start


@cache
def _operands(size: int) -> tuple[Any, Any, Any, Any]:
    import torch  # only here: the other workloads and most peers do without

    torch.manual_seed(0)
    return torch, torch.rand(size, size), torch.rand(size, size), torch.empty(size, size)


def product_size() -> int:
    """The size of matrices whose product takes `PRODUCT_MS` on one thread of this machine."""
    size = 256
    for _ in range(4):
        multiply(size)
        took = min(multiply(size) for _ in range(7)) / 1e6
        size = max(16, round(size * (PRODUCT_MS / took) ** (1 / 3)))
    return size


@contextmanager
def stray(wanted: bool) -> Iterator[None]:
    """A thread that never gives up the interpreter lock by itself."""
    over = False

    def run() -> None:
        while not over:
            pass

    thread = threading.Thread(target=run, daemon=True)
    if wanted:
        thread.start()
    try:
        yield
    finally:
        over = True
        if wanted:
            thread.join()
