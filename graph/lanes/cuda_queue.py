"""An accelerator queue that is a CUDA stream, with events as marks. Not yet run on hardware.

CUDA reports a failure of work that was launched before at whatever call comes next, and after it every call
fails: a failure at a mark is therefore a lost context.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic, perf_counter_ns

import torch

from graph.errors import DeviceLost
from graph.lanes.queue import Interval

CLOSE_S = 0.5
"""How long `close` waits for work that has begun."""
SHORTEST_S, LONGEST_S = 20e-6, 200e-6
"""Between two looks at an event. CUDA's own wait knows no time-out."""


class CudaMark:
    def __init__(self, queue: CudaQueue, begin: torch.cuda.Event, end: torch.cuda.Event) -> None:
        self._queue, self._begin, self._end = queue, begin, end

    def wait(self, timeout: float) -> bool:
        until, pause = monotonic() + timeout, SHORTEST_S
        with _told_as_lost():
            while not self._end.query():  # type: ignore[no-untyped-call]
                if monotonic() >= until:
                    return False
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_S)
        return True

    def interval(self) -> Interval | None:
        with _told_as_lost():
            return self._queue.interval(self._begin, self._end)


class CudaQueue:
    """Raises what CUDA raises where the device cannot be had."""

    def __init__(self, lane: str, device: str) -> None:
        del lane
        self._device = torch.device(device)
        self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        self._settled = False
        """Whether what was done at start, on other streams, has completed."""
        self._begin = self._event()
        self._anchor, self._anchor_ns = self._event(), 0
        """An event and when it was, from which those behind it are reckoned."""

    def launching(self) -> AbstractContextManager[object]:
        return self._launching()

    @contextmanager
    def _launching(self) -> Iterator[None]:
        if not self._settled:
            torch.cuda.synchronize(self._device)
            self._anchor.record(self._stream)
            self._anchor.synchronize()
            self._anchor_ns, self._settled = perf_counter_ns(), True
        self._begin = self._event()
        self._begin.record(self._stream)
        with torch.cuda.stream(self._stream):
            yield

    def enqueue(self, work: Callable[[], object]) -> None:
        with torch.cuda.stream(self._stream):
            work()

    def busy(self, seconds: float) -> None:
        with torch.cuda.stream(self._stream):
            # in cycles of the device's clock, here taken to be of a nanosecond
            torch.cuda._sleep(round(seconds * 1e9))  # type: ignore[no-untyped-call]

    def mark(self) -> CudaMark:
        end = self._event()
        with _told_as_lost():
            end.record(self._stream)
        return CudaMark(self, self._begin, end)

    def close(self) -> None:
        until = monotonic() + CLOSE_S
        try:
            while not self._stream.query() and monotonic() < until:
                time.sleep(0.001)
        except RuntimeError:
            pass  # of a lost context, on which nothing runs

    def interval(self, begin: torch.cuda.Event, end: torch.cuda.Event) -> Interval:
        """Reckoned from mark to mark: a float32 of milliseconds is too coarse over the length of a run."""
        began = self._anchor_ns + round(self._anchor.elapsed_time(begin) * 1e6)
        ended = min(began + round(begin.elapsed_time(end) * 1e6), perf_counter_ns())
        self._anchor, self._anchor_ns = end, ended
        return began, ended

    @staticmethod
    def _event() -> torch.cuda.Event:
        return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


@contextmanager
def _told_as_lost() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise DeviceLost(str(error)) from error
