"""An accelerator queue that is a CUDA stream, with events as marks. Not yet run on hardware.

- Order: what is launched inside `launching` goes on the queue's stream. What was on the device's default stream by
  then, such as the loading of weights, has completed before the first launch.
- Loss: CUDA reports a failure of work that was launched before at whatever call comes next, and after it every call
  fails. A failure at a mark is therefore a lost context.
- Cost: two events per mark, which are used again once the mark is settled. The steady loop creates none.

Memory. Tensors that are made inside `launching` belong to the queue's stream, and torch uses their memory again in the
order of that stream: they may be dropped before the work on them is done. One that is read on another stream, as on
another stream lane, has to stay referenced until that has completed, or be told `tensor.record_stream(stream)`; slots
and values of a step that is not through are referenced by the run. Copies are asynchronous only from and to pinned
memory, and with `non_blocking=True`; a copy from other host memory makes the host wait for the queue.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from time import monotonic, perf_counter_ns

import torch

from graph.errors import DeviceLost
from graph.lanes.cuda_clock import CudaClock
from graph.lanes.queue import Interval

CLOSE_S = 0.5
"""How long `close` waits for work that has begun."""
SHORTEST_S, LONGEST_S = 20e-6, 200e-6
"""Between two looks at an event."""
CALIBRATION_CYCLES = 20_000_000
"""Some ten milliseconds."""


class CudaMark:
    def __init__(
        self, queue: CudaQueue, begin: torch.cuda.Event | None, launched: int, end: torch.cuda.Event
    ) -> None:
        self._queue, self._begin, self._launched, self._end = queue, begin, launched, end
        self._seen = 0

    def wait(self, timeout: float) -> bool:
        """Looks at the event again and again: `Event.synchronize` knows no time-out, and would keep the thread for
        ever where a kernel does not end."""
        until, pause = monotonic() + timeout, SHORTEST_S
        with _told_as_lost():
            while not self._end.query():  # type: ignore[no-untyped-call]
                if monotonic() >= until:
                    return False
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_S)
        self._seen = self._seen or perf_counter_ns()
        return True

    def interval(self) -> Interval | None:
        return self._queue.interval(self._begin, self._launched, self._end, self._seen)


class CudaQueue:
    """Raises what CUDA raises where the device cannot be had."""

    def __init__(self, lane: str, device: str) -> None:
        del lane
        self._stream = torch.cuda.Stream(torch.device(device))  # type: ignore[no-untyped-call]
        self._clock: CudaClock | None = None
        """From the first launch on."""
        self._spare: deque[torch.cuda.Event] = deque()
        """Events that no mark needs any more. The lane's thread takes them, the completion thread brings them."""
        self._begin: torch.cuda.Event | None = None
        """In front of what has been launched since the last mark."""
        self._launched = 0
        """When that event was about to be recorded."""

    def launching(self) -> AbstractContextManager[object]:
        return self._launching()

    @contextmanager
    def _launching(self) -> Iterator[None]:
        with _told_as_lost():
            if self._clock is None:
                self._clock = self._started()
            if self._begin is None:
                self._begin, self._launched = self._event(), perf_counter_ns()
                self._begin.record(self._stream)
        with torch.cuda.stream(self._stream):
            try:
                yield
            except RuntimeError as error:
                self._raise_if_lost(error)
                raise

    def _raise_if_lost(self, error: RuntimeError) -> None:
        """A launch that has failed may have met the failure of another."""
        try:
            self._stream.query()
        except RuntimeError:
            raise DeviceLost(str(error)) from error

    def _started(self) -> CudaClock:
        """Waits for the default stream alone: to wait for the device would break the capture of a CUDA graph on
        another lane."""
        self._stream.wait_stream(torch.cuda.default_stream(self._stream.device))
        event = self._event()
        event.record(self._stream)
        event.synchronize()
        return CudaClock(event, perf_counter_ns())

    def enqueue(self, work: Callable[[], object]) -> None:
        with torch.cuda.stream(self._stream):
            work()

    def busy(self, seconds: float) -> None:
        """Off by as much as the device's clock rate changes. The first call in a process waits for the device."""
        with torch.cuda.stream(self._stream):
            cycles = round(seconds * cycles_per_second(self._stream.device))
            torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]

    def mark(self) -> CudaMark:
        end = self._event()
        with _told_as_lost():
            end.record(self._stream)
        begin, self._begin = self._begin, None
        return CudaMark(self, begin, self._launched, end)

    def close(self) -> bool:
        """Nothing can be taken off a stream: what has not begun is left to run."""
        until = monotonic() + CLOSE_S
        try:
            while not self._stream.query():
                if monotonic() >= until:
                    return False
                time.sleep(0.001)
        except RuntimeError:
            pass  # of a lost context, on which nothing runs
        return True

    def interval(
        self, begin: torch.cuda.Event | None, launched: int, end: torch.cuda.Event, seen: int
    ) -> Interval | None:
        """That of a mark which has been reached; its events are spare then, but for the one to reckon from.

        None where nothing has been launched yet, and where the context was lost meanwhile, by work behind the mark:
        that is told at the next one.
        """
        if self._clock is None:
            return None
        before = self._clock.last
        try:
            found = self._clock.interval(begin, launched, end, seen)
        except RuntimeError:
            return None
        self._spare.append(before)
        if begin is not None:
            self._spare.append(begin)
        return found

    def _event(self) -> torch.cuda.Event:
        try:
            return self._spare.popleft()
        except IndexError:
            return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


@cache
def cycles_per_second(device: torch.device) -> float:
    """Of the clock by which `torch.cuda._sleep` counts, measured on the current stream of `device`."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    for event in (begin, end):  # the first sleep is for a device whose clock has slowed down in idleness
        torch.cuda._sleep(CALIBRATION_CYCLES)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(device))
    end.synchronize()
    return CALIBRATION_CYCLES / (float(begin.elapsed_time(end)) / 1e3)


@contextmanager
def _told_as_lost() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise DeviceLost(str(error)) from error
