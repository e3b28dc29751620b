"""A device that misbehaves as told, so that tests and drills see what a run makes of it.

    Runtime(program, executor, make_queue=misbehaving({3: Never()}), completion_timeout=1.0)

Calls are counted from 0 on each queue. A call that is left alone behaves like one of `CpuQueue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial

from graph.errors import DeviceLost
from graph.lanes.cpu_queue import CpuMark, CpuQueue
from graph.lanes.queue import Interval, MakeQueue


@dataclass(frozen=True)
class Late:
    """The call completes that much later, and so do those behind it."""

    seconds: float


@dataclass(frozen=True)
class Never:
    """The completion of the call is never reported; those behind it are."""


@dataclass(frozen=True)
class OutOfOrder:
    """The completion of the call is reported after that of the call behind it, and never where that is not."""


@dataclass(frozen=True)
class FailsAtLaunch:
    """Launching the call raises."""

    error: BaseException = field(default_factory=lambda: RuntimeError("launch failed"))


@dataclass(frozen=True)
class FailsAtCompletion:
    """The device reports an error of the call."""

    error: BaseException = field(default_factory=lambda: RuntimeError("call failed"))


@dataclass(frozen=True)
class Lost:
    """The context is lost in the call: it and all behind it fail, and nothing can be launched any more."""


Fault = Late | Never | OutOfOrder | FailsAtLaunch | FailsAtCompletion | Lost


def misbehaving(faults: Mapping[int, Fault], lane: str | None = None) -> MakeQueue:
    """Makes queues with these faults by call; with `lane`, those of other lanes behave.

    Raises `ValueError` for what is no number of a call.
    """
    for call in faults:
        if type(call) is not int or call < 0:
            raise ValueError(f"a fault of call {call!r}: calls are numbered from 0")
    return partial(_make, faults, lane)


def _make(faults: Mapping[int, Fault], lane: str | None, name: str, device: str) -> CpuQueue:
    return MisbehavingQueue(name, device, faults if lane in (None, name) else {})


class MisbehavingQueue(CpuQueue):
    def __init__(self, lane: str, device: str, faults: Mapping[int, Fault]) -> None:
        self._faults = faults
        self._call = -1
        """Of the launch that is under way, or was last."""
        self._silent: dict[CpuMark, Fault] = {}
        """Marks whose being reached is told later, or never."""
        self._held: list[tuple[CpuMark, Interval, BaseException | None]] = []
        """Those that were reached, until the next one is, which overtakes them."""
        self._fatal: CpuMark | None = None
        self._lost = False
        super().__init__(lane, device)

    def launching(self) -> AbstractContextManager[object]:
        return self._launching()

    @contextmanager
    def _launching(self) -> Iterator[None]:
        self._call += 1
        if self._lost:
            raise DeviceLost("the context is lost")
        fault = self._faults.get(self._call)
        if isinstance(fault, FailsAtLaunch):
            raise fault.error
        yield

    def mark(self) -> CpuMark:
        fault, mark = self._faults.get(self._call), CpuMark()
        if isinstance(fault, Never | OutOfOrder):
            self._silent[mark] = fault
        elif isinstance(fault, Late):
            self.busy(fault.seconds)
        elif isinstance(fault, FailsAtCompletion):
            self.enqueue(_raiser(fault.error))
        elif isinstance(fault, Lost):
            self._fatal = mark
        self._items.put(mark)
        return mark

    def _reach(self, mark: CpuMark, interval: Interval, error: BaseException | None) -> None:
        self._lost = self._lost or mark is self._fatal
        told = mark, interval, DeviceLost("the context is lost") if self._lost else error
        fault = self._silent.get(mark)
        if isinstance(fault, OutOfOrder):
            self._held.append(told)
        elif fault is None:
            super()._reach(*told)
            while self._held:
                super()._reach(*self._held.pop())


def _raiser(error: BaseException) -> Callable[[], object]:
    def fail() -> object:
        raise error

    return fail
