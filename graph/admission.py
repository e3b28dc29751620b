"""How steps come in: in turn, bounded in number, each announced to every lane that waits for one.

What has arrived is a count, not a message: whoever is woken for nothing looks again, so no wake-up can be
lost, and an interrupt in the middle of a `submit` leaves the step either wholly in the run or wholly outside.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from graph.bubbles import bubbles_needed
from graph.errors import QueueFull, RuntimeStopped
from graph.lanes.thread import NEVER, Shared
from graph.node import Rows
from graph.order import entry_nodes
from graph.program import Program
from graph.stepping import Outbox, StepRecord


class Bell(Protocol):
    """Let go of after turns have arrived; raises `RuntimeError` where that was done and nobody has needed it."""

    def release(self) -> None: ...


class Admission:
    """The entry of one run. `capacity` is the most steps that are submitted and not yet resolved.

    `bells` are rung for every turn, beside those of the lanes that wait for steps.
    """

    def __init__(
        self,
        program: Program,
        shared: Shared,
        positions: Mapping[str, int],
        capacity: int,
        new_record: Callable[..., StepRecord] = StepRecord,
        bells: Iterable[Bell] = (),
    ) -> None:
        self._program, self._shared, self._positions = program, shared, positions
        self._new_record = new_record
        self._entries = entry_nodes(program.topology)
        self._capacity = capacity
        self._lock = threading.Lock()
        """The admission lock."""
        self._room = threading.Condition(self._lock)
        self._blocked = 0
        """Threads that wait for room; a lane that makes room takes the lock only where there are some."""
        self._bells = {lane.name: _closed() for lane in program.lanes}
        self._rung: list[Bell] = [
            self._bells[lane.name] for lane in program.lanes if any(op.entry for op in lane.ops)
        ]
        self._rung.extend(bells)
        self.closed = False
        self.bubbles = 0
        self.outbox = Outbox(shared, program.max_back, self._make_room)

    def bell(self, lane: str) -> threading.Lock:
        """What the lane waits at where no step has arrived."""
        return self._bells[lane]

    def submit(
        self, command: Any, route: str, visits: frozenset[str], rows: Rows, block: bool
    ) -> Future[Any]:
        """Let one more step in and announce it; raises `QueueFull` and `RuntimeStopped`."""
        shared = self._shared
        with self._lock:
            self._await_room(block)
            turn = shared.arrived
            step = self._new_record(turn, turn - self.bubbles, route, visits, command, rows)
            try:
                shared.records[turn] = step
                shared.arrived = turn + 1  # from here the step is in the run
                shared.starved = False
                self.ring()
            except BaseException:  # a KeyboardInterrupt
                if shared.arrived == turn:
                    shared.records.pop(turn, None)
                self.ring()
                raise
        if step.complete:
            self.outbox.settle()  # its route visits no node
        return step.ticket

    def _await_room(self, block: bool) -> None:
        self._check_open()
        while self._shared.arrived - self.bubbles - self.outbox.resolved >= self._capacity:
            if not block:
                raise QueueFull(f"{self._capacity} steps are on their way")
            self._blocked += 1
            try:
                # looked at again now that a lane which makes room knows of this thread
                if self._shared.arrived - self.bubbles - self.outbox.resolved >= self._capacity:
                    self._room.wait()
            finally:
                self._blocked -= 1
            self._check_open()

    def _check_open(self) -> None:
        if self.closed:
            raise RuntimeStopped("the run has ended")

    def _make_room(self) -> None:
        if self._blocked:
            with self._lock:
                self._room.notify_all()

    def ring(self) -> None:
        """Wake every lane that waits for a step."""
        for bell in self._rung:
            try:
                bell.release()
            except RuntimeError:
                continue  # it was let go before and nobody has needed it since

    def close(self) -> None:
        """Let no further step in, not even a bubble."""
        with self._lock:
            self.closed = True
            self._room.notify_all()

    def end(self) -> None:
        """Let every lane run on until lagged nodes have met the last step, then end."""
        with self._lock:
            shared = self._shared
            if shared.last_turn == NEVER:
                shared.last_turn = shared.arrived + self._program.max_lag
            shared.arrived = shared.last_turn + 1
            self.ring()

    def starve(self) -> None:
        """An entry node found no step: from now on, until one arrives, see whether a bubble is called for."""
        if self._program.max_lag == 0:
            return
        with self._lock:
            self._shared.starved = True
        self.unstarve()

    def unstarve(self) -> None:
        """Let in the bubbles that free a node which nothing else holds back."""
        with self._lock:
            shared, graph = self._shared, self._program.graph
            if self.closed or not shared.starved:
                return
            done = {name: shared.done[position] for name, position in self._positions.items()}
            needed = bubbles_needed(done, graph.lag, graph.arcs, self._entries, shared.arrived, self._works)
            if needed:
                self.bubbles += needed
                shared.arrived += needed
                shared.starved = False
                self.ring()

    def _works(self, node: str, turn: int) -> bool:
        step = self._shared.records.get(turn)
        return step is not None and node in step.visits


def _closed() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
