"""An accelerator queue on the CPU: a thread that works through a FIFO, with a clock of its own.

Its clock is that of a device: work begins when the work before it has ended, or when it was put on the queue
where that is later, however late Python gives this thread its turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from queue import SimpleQueue
from time import perf_counter_ns
from typing import NamedTuple

from graph.lanes.queue import Interval
from graph.lanes.thread import LaneThread

CLOSE_S = 0.5
"""How long `close` waits for work that has begun."""


class _Work(NamedTuple):
    put: int
    """When it was put on the queue."""
    call: Callable[[], object] | None
    """None keeps the queue busy for `duration` nanoseconds."""
    duration: int


class CpuMark:
    def __init__(self) -> None:
        self._reached = threading.Lock()
        self._reached.acquire()
        self._error: BaseException | None = None
        self._interval: Interval | None = None

    def reach(self, interval: Interval, error: BaseException | None) -> None:
        """The queue has come to the mark."""
        self._interval, self._error = interval, error
        self._reached.release()

    def wait(self, timeout: float) -> bool:
        if not self._reached.acquire(timeout=timeout):
            return False
        self._reached.release()
        if self._error is not None:
            raise self._error
        return True

    def interval(self) -> Interval | None:
        return self._interval


class CpuQueue:
    """What a call of `enqueue` raises is the error of the next mark; work between the two is left out."""

    def __init__(self, lane: str, device: str = "cpu") -> None:
        del device
        self._items: SimpleQueue[_Work | CpuMark | None] = SimpleQueue()
        self._closed = threading.Event()
        self._free = 0
        """When the work before ended, by the queue's clock."""
        self._thread = LaneThread(f"laneflow-{lane}-queue", self._drain)
        self._thread.start()

    def launching(self) -> AbstractContextManager[object]:
        return nullcontext()

    def enqueue(self, work: Callable[[], object]) -> None:
        self._items.put(_Work(perf_counter_ns(), work, 0))

    def busy(self, seconds: float) -> None:
        self._items.put(_Work(perf_counter_ns(), None, round(seconds * 1e9)))

    def mark(self) -> CpuMark:
        mark = CpuMark()
        self._items.put(mark)
        return mark

    def close(self) -> bool:
        self._closed.set()
        self._items.put(None)
        ended = self._thread.over.wait(CLOSE_S)
        if ended:
            self._thread.join()
        return ended

    # -- on the queue's own thread ---------------------------------------------------------------------------

    def _drain(self) -> None:
        began: int | None = None
        error: BaseException | None = None
        while (item := self._items.get()) is not None and not self._closed.is_set():
            if isinstance(item, CpuMark):
                now = self._free or perf_counter_ns()
                self._reach(item, (now if began is None else began, now), error)
                began, error = None, None
            elif error is None:
                begin = max(self._free, item.put)
                began = begin if began is None else began
                error = self._work(item, begin)

    def _reach(self, mark: CpuMark, interval: Interval, error: BaseException | None) -> None:
        mark.reach(interval, error)

    def _work(self, item: _Work, begin: int) -> BaseException | None:
        """Do it; returns what it raised."""
        if item.call is None:
            self._free = begin + item.duration
            self._closed.wait(max(0, self._free - perf_counter_ns()) / 1e9)
            return None
        try:
            item.call()
        except BaseException as error:
            return error
        finally:
            self._free = perf_counter_ns()
        return None
