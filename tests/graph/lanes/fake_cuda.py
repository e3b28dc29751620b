"""A CUDA device without one: streams, events and a clock of its own, for what `CudaQueue` makes of them.

It stands for the few names of `torch.cuda` that are used there, and keeps to what CUDA says of them: an event is
reached when the work before it on its stream is; recording it again moves it; what looks at a lost context raises.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch

from graph.lanes import cuda_queue

HERTZ = 1.3e9
"""In which the fake's `_sleep` counts."""
LOST = "CUDA error: an illegal memory access was encountered"


class SimulatedTime:
    """A host's clock that goes on only when somebody sleeps, or is told to."""

    def __init__(self) -> None:
        self.nanoseconds = 10**9

    def now(self) -> int:
        return self.nanoseconds

    def sleep(self, seconds: float) -> None:
        self.nanoseconds += round(seconds * 1e9)


class WallTime:
    """The real one, for runs with threads."""

    def now(self) -> int:
        return time.perf_counter_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class FakeStream:
    def __init__(self, cuda: FakeCuda, device: Any) -> None:
        self.cuda, self.device = cuda, device
        self.free = 0
        """When all that is on it has completed, by the host's clock."""

    def query(self) -> bool:
        self.cuda.check()
        return self.cuda.time.now() >= self.free

    def wait_stream(self, other: FakeStream) -> None:
        self.cuda.check()
        self.free = max(self.free, other.free)


class FakeEvent:
    def __init__(self, cuda: FakeCuda) -> None:
        self.cuda = cuda
        self.at: int | None = None
        cuda.events += 1

    def record(self, stream: FakeStream) -> None:
        self.cuda.check()
        self.at = max(stream.free, self.cuda.time.now())

    def query(self) -> bool:
        self.cuda.check()
        return self.at is None or self.cuda.time.now() >= self.at

    def synchronize(self) -> None:
        while not self.query():
            self.cuda.time.sleep(1e-6 + (self.at - self.cuda.time.now()) / 1e9)  # type: ignore[operator]

    def elapsed_time(self, other: FakeEvent) -> float:
        self.cuda.check()
        if self.at is None or other.at is None or not (self.query() and other.query()):
            raise RuntimeError("an event is not recorded, or not reached")
        return float(numpy.float32((other.at - self.at) * self.cuda.rate / 1e6))


class FakeCuda:
    """`rate` is that of the device's clock against the host's."""

    def __init__(self, clock: Any, rate: float = 1.0) -> None:
        self.time, self.rate = clock, rate
        self.events = 0
        """Made in all."""
        self.sleeps: list[int] = []
        self.lost_at: int | None = None
        """From when on the context is lost."""
        self.default = FakeStream(self, "default")
        self._current: list[FakeStream] = [self.default]

    def check(self) -> None:
        if self.lost_at is not None and self.time.now() >= self.lost_at:
            raise RuntimeError(LOST)

    def launch(self, milliseconds: float) -> None:
        """A kernel on the current stream."""
        self.check()
        stream = self._current[-1]
        stream.free = max(stream.free, self.time.now()) + round(milliseconds * 1e6)

    @property
    def current(self) -> FakeStream:
        return self._current[-1]

    @contextmanager
    def stream(self, stream: FakeStream) -> Iterator[None]:
        self._current.append(stream)
        try:
            yield
        finally:
            self._current.pop()

    def sleep(self, cycles: int) -> None:
        self.sleeps.append(cycles)
        self.launch(cycles / HERTZ * 1e3)

    def install(self, patch: pytest.MonkeyPatch) -> FakeCuda:
        """In place of torch's, for the length of a test."""
        names = {
            "Stream": lambda device: FakeStream(self, device),
            "Event": lambda enable_timing: FakeEvent(self),
            "stream": self.stream,
            "current_stream": lambda device=None: self.current,
            "default_stream": lambda device: self.default,
            "_sleep": self.sleep,
        }
        for name, stand_in in names.items():
            patch.setattr(torch.cuda, name, stand_in)
        patch.setattr(cuda_queue, "time", SimpleNamespace(sleep=self.time.sleep))
        patch.setattr(cuda_queue, "monotonic", lambda: self.time.now() / 1e9)
        patch.setattr(cuda_queue, "perf_counter_ns", self.time.now)
        cuda_queue.cycles_per_second.cache_clear()
        return self
