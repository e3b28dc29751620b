"""A lane that is an accelerator queue: one thread launches, another completes, in the order of the launches.

The lane's thread does a node's waits, calls it, which only launches, records a mark behind it, and goes on. All
that follows from the node being through - signals, slots given back, errors, spans - is done by the completion
thread when the queue has come to the mark. Entries of the lane follow each other on the queue, without a wait
of the host between them.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter_ns
from typing import NamedTuple

from graph.errors import DeviceLost, Unfinished
from graph.lanes.queue import MakeQueue, Mark, Queue
from graph.lanes.thread import Op, Semaphore, State
from graph.launching import Call, Launching
from graph.order import MarkedGraph
from graph.program import LaneProgram
from graph.stepping import StepRecord
from graph.topology import Topology

log = logging.getLogger("laneflow")

LAUNCHED = 2
"""Most turns of a node on the queue: the one under way, and one launched ahead of it."""
LOOK_S = 0.1
"""How long either thread waits before it looks whether the run has been halted."""


class _Launched(NamedTuple):
    """An entry of one turn, in order of launch."""

    op: Op
    turn: int
    record: StepRecord | None
    """None where the node does not visit the step, or there is none."""
    call: Call | None
    """None where nothing was launched: the node is passed."""


class StreamLane:
    """What the two threads of one stream lane share. `timeout`, in seconds, is the longest that a call may be the
    first on the queue and not complete."""

    def __init__(
        self, lane: LaneProgram, topology: Topology, graph: MarkedGraph, shared: State, timeout: float | None
    ) -> None:
        self.name = lane.name
        self.queue: Queue | None = None
        """From the start of the lane to its end."""
        self._lookback = lookback(lane, topology, graph)
        """By entry of the lane's program."""
        self._shared, self._timeout = shared, timeout
        self._launched: SimpleQueue[_Launched | None] = SimpleQueue()
        """From the lane's thread to the completion thread; None at the end."""
        self._calls: deque[Call] = deque()
        """Calls not through; one is added before it is launched, and so before it looks at other steps."""
        self._ended = 0
        """When the last call that is through ended; for the completion thread."""
        self._through = 0
        """Entries that are through; written by the completion thread."""
        self._progress = threading.Lock()
        """Let go of whenever `_through` has grown: whoever is woken for nothing looks again."""
        self._lost: DeviceLost | None = None
        """Written once, by the completion thread."""
        self._completed = threading.Event()
        """The completion thread has come to its end."""

    # -- on the lane's thread --------------------------------------------------------------------------------

    def open(self, make: MakeQueue, device: str) -> Queue:
        queue: Queue | None = make(self.name, device)
        if queue is None:
            raise TypeError("make_queue returned None: return the lane's queue")
        self.queue = queue
        return queue

    def close(self) -> None:
        """End the completion thread, then the queue."""
        self._launched.put(None)
        while not self._completed.wait(LOOK_S) and not self._shared.halted:
            continue
        if self.queue is not None and self.queue.close() is False:
            log.warning(
                "lane `%s`: a call has not ended with the run, and may still use its slots and resources",
                self.name,
            )

    def launch(self, ops: Sequence[Op], bell: Semaphore, starve: Callable[[], None]) -> None:
        """Launch turn by turn until the last turn is over, or the run is halted; returns once all is through."""
        shared, records, count, turn = self._shared, self._shared.records, 0, 0
        while turn <= shared.last_turn:
            for op, back in zip(ops, self._lookback, strict=True):
                came = perf_counter_ns()
                if op.entry:
                    while turn - op.lag >= shared.arrived and not shared.halted:
                        starve()
                        bell.acquire()  # may have been let go for a turn that is long known
                for locks, size in op.waits:
                    locks[turn % size].acquire()
                record = records.get(turn - op.lag)
                if record is not None and op.node not in record.visits:
                    record = None
                self._await_through(count + 1 - (back.passed if record is None else back.called))
                if shared.halted:
                    return
                self._launched.put(_Launched(op, turn, record, self._launch(op, record, came)))
                count += 1
            turn += 1
        self._await_through(count)

    def _launch(self, op: Op, record: StepRecord | None, came: int) -> Call | None:
        firing = op.firing
        assert isinstance(firing, Launching)
        assert self.queue is not None
        call = None if record is None else firing.take(record, came)
        if call is None:
            return None
        self._calls.append(call)
        if self._lost is None:
            firing.launch(call, self.queue)
        else:
            firing.refuse(call, self._lost)
        return call

    def _await_through(self, entries: int) -> None:
        """Until so many entries are through, or the run is halted."""
        while self._through < entries and not self._shared.halted:
            self._progress.acquire(timeout=LOOK_S)

    # -- on the completion thread ----------------------------------------------------------------------------

    def complete(
        self,
        unstarve: Callable[[], None],
        through: Callable[[StepRecord], None],
        on_lost: Callable[[DeviceLost], None],
    ) -> None:
        """Complete what was launched, in that order, until the lane ends or the run is halted.

        `unstarve` and `through` are as for a lane on a thread; `on_lost` is called once, when the device is.
        """
        shared, done = self._shared, self._shared.done
        try:
            while (entry := self._next()) is not None:
                op, turn, record, call = entry
                if call is not None and not self._settle(call, on_lost):
                    return
                done[op.position] = turn + 1
                try:
                    for locks, size, tokens in op.signals:
                        locks[(turn + tokens) % size].release()
                except RuntimeError:
                    if not shared.halted:  # a halt lets go of every semaphore
                        raise
                self._through += 1
                self.wake()
                if shared.starved:
                    unstarve()
                if record is not None:
                    through(record)  # after the signals: callbacks on the ticket hold up no other lane
        finally:
            self._completed.set()

    def wake(self) -> None:
        """Let the lane's thread look again; called by anyone."""
        try:
            self._progress.release()
        except RuntimeError:
            return  # nobody has needed it since

    def _next(self) -> _Launched | None:
        while not self._shared.halted:
            try:
                return self._launched.get(timeout=LOOK_S)
            except Empty:
                continue
        return None

    def _settle(self, call: Call, on_lost: Callable[[DeviceLost], None]) -> bool:
        """Wait for the call's mark and settle it; False where the run is halted."""
        error = call.error
        try:
            if error is None and call.mark is not None and not self._await_mark(call.mark):
                return False
        except BaseException as raised:
            error = raised
        self._ended = call.firing.settle(call, error, self._ended)
        self._calls.popleft()
        self._spoil_followers(call)
        lost = error if isinstance(error, DeviceLost) else call.lost
        if lost is not None and self._lost is None:
            self._lost = lost
            on_lost(lost)
        return True

    def _await_mark(self, mark: Mark) -> bool:
        until = None if self._timeout is None else monotonic() + self._timeout
        while not mark.wait(LOOK_S if until is None else min(LOOK_S, max(until - monotonic(), 0))):
            if self._shared.halted:
                return False
            if until is not None and monotonic() >= until:
                raise Unfinished(f"not complete after {self._timeout:g} s")
        return True

    def _spoil_followers(self, settled: Call) -> None:
        """Fail the steps of launched calls that read from a step that has failed since."""
        if settled.record.error is None:
            return
        failed = {settled.record.turn: settled.record}
        for call in tuple(self._calls):
            turn = call.record.turn
            source = next((failed[turn - back] for back in call.firing.backs if turn - back in failed), None)
            if source is not None and call.record.error is None:
                call.firing.spoil(call, source)
                failed[turn] = call.record


class Lookback(NamedTuple):
    """How many launches back an entry must be through before this one is launched."""

    called: int
    passed: int


def lookback(lane: LaneProgram, topology: Topology, graph: MarkedGraph) -> list[Lookback]:
    """For each entry, `LAUNCHED` turns of the lane, or less.

    A slot is given back and a limit on the steps in flight is kept by what has completed, and a release node that
    is called must see whether its step has failed.
    """
    place, count = {op.node: position for position, op in enumerate(lane.ops)}, len(lane.ops)
    passed = dict.fromkeys(place, LAUNCHED * count)
    for arc in graph.arcs:
        if arc.source in place and arc.target in place and arc.reason in ("slot", "in_flight"):
            distance = place[arc.target] - place[arc.source] + arc.tokens * count
            passed[arc.target] = min(passed[arc.target], distance)
    called = dict(passed)
    for op in (op for op in lane.ops if topology.nodes[op.node].kind == "release"):
        own = (place[op.node] - place[other.node] + (op.lag - other.lag) * count for other in lane.ops)
        called[op.node] = min([passed[op.node], *(distance for distance in own if distance > 0)])
    return [Lookback(called[node], passed[node]) for node in place]
