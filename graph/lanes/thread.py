"""A lane on a resident thread.

The protocol is the loop in `run`: waits, the call, signals, in that order. What lanes share is in `Shared`,
and each entry there says who may write it. A lane in a process of its own runs the same loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from graph.firing import Firing
    from graph.stepping import StepRecord

NEVER = 1 << 62


class Semaphore(Protocol):
    """A lock used as a binary semaphore, or a semaphore between processes."""

    def acquire(self, blocking: bool = ..., /) -> bool: ...

    def release(self) -> None: ...


Ring = tuple[list[Semaphore], int]
"""Semaphores for the tokens of one channel, and how many there are: binary ones in turn, or one that counts."""


class Counts(Protocol):
    """Whole numbers by position, as in a list."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[int]: ...

    def __getitem__(self, position: int, /) -> int: ...

    def __setitem__(self, position: int, count: int, /) -> None: ...


class Records(Protocol):
    def get(self, turn: int, /) -> StepRecord | None: ...


@dataclass(slots=True)
class Shared:
    """What the lanes of one run share."""

    records: dict[int, StepRecord]
    """Submitted steps by turn. Added under the admission lock before they arrive; the outbox removes them."""
    done: Counts
    """Per node, how many turns it is through; each entry is written by the node's own lane alone."""
    arrived: int = 0
    """How many turns have arrived, bubbles included. Written under the admission lock; then lanes wake."""
    last_turn: int = NEVER
    """The turn after which lanes end. Written once, under the admission lock."""
    halt: Counts = field(default_factory=lambda: [0])
    """One number, 1 once the run is halted; lanes look at it at every node."""
    starved: bool = False
    """An entry node found no step, in a program with lags. Written under the admission lock."""

    @property
    def halted(self) -> bool:
        """Set before all semaphores are let go: a lane that wakes up now ends without another call."""
        return self.halt[0] != 0

    @halted.setter
    def halted(self, halted: bool) -> None:
        self.halt[0] = int(halted)


class State(Protocol):
    """What a lane sees of `Shared`."""

    @property
    def records(self) -> Records: ...
    @property
    def done(self) -> Counts: ...
    @property
    def arrived(self) -> int: ...
    @property
    def last_turn(self) -> int: ...
    @property
    def halt(self) -> Counts: ...
    @property
    def halted(self) -> bool: ...
    @property
    def starved(self) -> bool: ...


class LaneThread(threading.Thread):
    """A lane's thread. `over` is set at its very end.

    Wait for `over` before `join`: where a KeyboardInterrupt comes while it waits, `Thread.join` of Python up
    to 3.12 takes the thread for ended although it runs.
    """

    def __init__(self, name: str, main: Callable[[], None]) -> None:
        super().__init__(name=name, daemon=True)
        self.over = threading.Event()
        self._main = main

    def run(self) -> None:
        try:
            self._main()
        finally:
            self.over.set()


@dataclass
class Op:
    """One entry of the lane's program, bound to its semaphores and its node."""

    node: str
    position: int
    """Index in `Shared.done`."""
    lag: int
    firing: Firing
    entry: bool
    """Whether the node waits for its step to arrive."""
    waits: list[Ring] = field(default_factory=list)
    signals: list[tuple[list[Semaphore], int, int]] = field(default_factory=list)
    """Ring, its size, and the channel's tokens."""


def run(
    ops: list[Op],
    shared: State,
    bell: Semaphore,
    starve: Callable[[], None],
    unstarve: Callable[[], None],
    complete: Callable[[StepRecord], None],
) -> None:
    """Run the program turn by turn until the last turn is over, or the run is halted.

    `bell` is let go whenever a turn has arrived. `starve` is called where none has; `unstarve` after a node
    while that lasts; `complete` when the last of the nodes that are waited for is through with a step, passed for
    failure or not.
    """
    record_of, done, halt = shared.records.get, shared.done, shared.halt
    program = [(op.node, op.position, op.lag, op.entry, op.firing.fire, op.waits, op.signals) for op in ops]
    turn = 0
    while turn <= shared.last_turn:
        for node, position, lag, entry, fire, waits, signals in program:
            came = perf_counter_ns()
            if entry:
                while turn - lag >= shared.arrived and not halt[0]:
                    starve()
                    bell.acquire()  # may have been let go for a turn that is long known
            for locks, size in waits:
                locks[turn % size].acquire()
            if halt[0]:
                return
            record = record_of(turn - lag)
            if record is not None and node not in record.visits:
                record = None
            if record is not None:
                fire(record, came)
            done[position] = turn + 1
            try:
                for locks, size, tokens in signals:
                    locks[(turn + tokens) % size].release()
            except RuntimeError:
                if not halt[0]:  # a halt lets go of every semaphore
                    raise
            if shared.starved:
                unstarve()
            if record is not None and record.pending.pop() == 0:
                complete(record)  # after the signals: callbacks on the ticket hold up no other lane
        turn += 1
