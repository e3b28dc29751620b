"""The process of one lane: what `process` describes, from the inside."""

from __future__ import annotations

import marshal
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from graph.assembly import Assembly
from graph.bind import remade
from graph.errors import LifecycleError
from graph.interpreter import steady
from graph.lanes import thread as lane_thread
from graph.lanes.board import STARVED, Board
from graph.lanes.carried import pack_error
from graph.lanes.mailbox import ERROR, Mailbox
from graph.lanes.shared_step import AwayStep, Common, Share, sharing
from graph.lanes.thread import NEVER, Semaphore
from graph.lanes.torch_threads import set_up_torch
from graph.makers import ResourceCounts
from graph.node import Executor
from graph.program import LaneProgram
from graph.shared_slots import SharedPool, SharedViews, allocate_shared
from graph.slots import close_all
from graph.stepping import StepRecord
from graph.topology import Topology
from graph.trace import SPANS_KEPT, Spans

SPANS_AT_ONCE = 64
"""How many are sent in one message where no other message takes them along."""


@dataclass(frozen=True)
class Plan:
    """All that a child needs; pickled once, as it is spawned."""

    lane: LaneProgram
    topology: Topology
    factory: Callable[[], Executor] | str
    dims: Mapping[str, int]
    device: str
    positions: Mapping[str, int]
    board: Board
    channels: Mapping[int, tuple[Any, int]]
    """The counting semaphore and the tokens of each channel that touches the lane."""
    incoming: frozenset[tuple[str, str]]
    """Values, by producer and type, from other processes."""
    outgoing: frozenset[tuple[str, str]]
    """Values that some other process takes."""
    quiet: frozenset[str]
    """Routes on which nobody needs to be told that the lane is through with a step."""
    lags: bool
    """Whether the program has lags, so that a lane may starve."""
    checked: bool
    record: bool
    threads: int | None
    switch_interval_ms: float | None


class Up:
    """The pipe to the process of the run. What a lane elsewhere may need at once is sent by the lane itself; the rest
    is posted, and written by a thread that is no lane, so that no step waits for it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._writing = threading.Lock()
        self._posted: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="laneflow-writer", daemon=True)
        self._writer.start()

    def send(self, *message: Any) -> None:
        with self._writing:
            self._pipe.send_bytes(marshal.dumps(message))

    def post(self, *message: Any) -> None:
        self._posted.put(message)

    def flush(self) -> None:
        """Wait until all that was posted is written; nothing is posted any more."""
        self._posted.put(None)
        self._writer.join()

    def _write(self) -> None:
        try:
            while (message := self._posted.get()) is not None:
                self.send(*message)
        except OSError:
            os._exit(1)  # the process of the run is no more


class Inbox:
    """What was announced to this lane: the state that the loop in `lanes.thread` runs on."""

    def __init__(self, plan: Plan, up: Up) -> None:
        self._plan, self._board = plan, plan.board
        self.mailbox = Mailbox(lambda: self.halted)
        self._common = Common(
            plan.board,
            [*plan.positions],
            plan.incoming,
            self.mailbox,
            partial(_tell, up, plan),
            plan.topology,
        )
        self._visits = {name: frozenset(nodes) for name, nodes in plan.topology.steps_routes().items()}
        self._own = frozenset(op.node for op in plan.lane.ops)
        self._records = _Records(self._await)
        self.records = self
        self.get: Callable[[int], AwayStep | None] = self._records.__getitem__
        """The record of a turn, None of a bubble; of one that is about to be announced, as soon as it is."""
        self._silent = frozenset(route for route in plan.quiet if self._visits[route] & self._own)
        """Routes that come to this lane, and of which nobody needs to be told."""
        self._until_sent = max(1, SPANS_AT_ONCE // len(self._own))
        self._steps = count(1)
        self.done, self.halt = plan.board.done, plan.board.halt
        self.arrived, self.last_turn = 0, NEVER
        self.bell = threading.Lock()
        """Let go of with each announcement."""

    @property
    def halted(self) -> bool:
        return bool(self.halt[0])

    starved = False
    """Without lags nobody starves."""

    def _await(self, turn: int) -> None:
        while turn >= self.arrived and not self.halted:
            self.bell.acquire()

    def read(self, pipe: Connection) -> None:
        """Take announcements until the other side is gone, and this process with it."""
        act: dict[str, Callable[..., None]] = {
            "step": self._on_step,
            "bubble": self._on_bubble,
            "end": self._on_end,
            "value": self._on_value,
            "failed": self._on_failed,
            "halt": self.mailbox.wake,
        }
        try:
            while True:
                kind, *content = marshal.loads(pipe.recv_bytes())
                act[kind](*content)
                if self.bell.locked():
                    self.bell.release()
        except (EOFError, OSError):
            os._exit(1)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    def _on_step(
        self,
        turn: int,
        index: int,
        route: str,
        command: bytes | None,
        rows: tuple[tuple[int, int], ...],
        since: int,
    ) -> None:
        if turn == self.arrived:
            told = self._is_told(route)
            self._records[turn] = AwayStep(
                self._common, turn, index, route, self._visits[route], command, rows, since, self._own, told
            )
            self._arrive(turn)

    def _is_told(self, route: str) -> bool:
        """Whether the run is told once the lane is through with a step: of that, or of the spans since last time."""
        if route not in self._silent:
            return True
        return self._plan.record and next(self._steps) % self._until_sent == 0

    def _on_bubble(self, turn: int) -> None:
        if turn == self.arrived:
            self._arrive(turn)

    def _arrive(self, turn: int) -> None:
        self._records.pop(turn - self._board.window, None)
        self.mailbox.forget(turn - self._board.window)
        self.arrived = turn + 1

    def _on_end(self, last_turn: int) -> None:
        self.last_turn = last_turn
        self.arrived = last_turn + 1

    def _on_value(self, turn: int, producer: str, kind: str, payload: bytes) -> None:
        self.mailbox.put(turn, (producer, kind), payload)

    def _on_failed(self, turn: int, payload: bytes) -> None:
        self.mailbox.put(turn, ERROR, payload)


class LaggingInbox(Inbox):
    """Of a program with lags, so that a lane may starve."""

    @property
    def starved(self) -> bool:  # type: ignore[override]
        """Looked at after the count of turns was written: see `BoardShared.starved` for the other side."""
        return bool(self._board.lock.run(lambda: self._board.control[STARVED]))


class _Records(dict[int, AwayStep]):
    """Records by turn; on every step's way, so Python is only called where one is missing."""

    def __init__(self, wait: Callable[[int], None]) -> None:
        super().__init__()
        self._wait = wait

    def __missing__(self, turn: int) -> AwayStep | None:
        self._wait(turn)
        return self.get(turn)


def main(plan: Plan, down: Connection, up_pipe: Connection) -> None:
    """Run the lane, from the start of its nodes to their stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    up = Up(up_pipe)
    inbox = (LaggingInbox if plan.lags else Inbox)(plan, up)
    threading.Thread(target=inbox.read, args=(down,), name="laneflow-reader", daemon=True).start()
    try:
        try:
            _Lane(plan, inbox, up).live()
        except BaseException as fault:
            up.post("fault", pack_error(fault, plan.lane.name))
        up.post("goodbye")
        up.flush()
    except BrokenPipeError:
        os._exit(1)  # the process of the run is no more


class _Lane:
    """The lane's life in this process."""

    def __init__(self, plan: Plan, inbox: Inbox, up: Up) -> None:
        self._plan, self._inbox, self._up = plan, inbox, up
        self._spans: Spans = deque(maxlen=SPANS_KEPT if plan.record else 0)
        self._started: list[str] = []
        self._pools: dict[str, SharedPool] = {}
        self._is_up = False

    def live(self) -> None:
        with steady(self._plan.switch_interval_ms):
            try:
                try:
                    self._start()
                except Exception as error:
                    self._up.send("started", pack_error(error, self._plan.lane.name))
                    return
                self._up.send("started", None)
                self._is_up = True
                for name, pool in self._pools.items():
                    if (counts := pool.counts()) is not None:
                        self._post_counts(name, counts)
                self._run()
            finally:
                self._stop()
                self._up.post("spans", self._new_spans())

    def _start(self) -> None:
        plan = self._plan
        set_up_torch(plan.threads)
        made = remade(plan.factory, [op.node for op in plan.lane.ops], plan.lane.name)
        executor = replace(made, dims=plan.dims)
        self._nodes = executor.nodes
        self._pools = allocate_shared(
            plan.topology,
            {**plan.topology.dims, **plan.dims},
            executor.resources,
            plan.device,
            plan.board,
            plan.lane.name,
            self._post_fault,
            self._post_counts,
        )
        for pool in self._pools.values():
            pool.open()
        assembly = Assembly(
            plan.topology,
            executor,
            self._pools,
            self._inbox,
            plan.positions,
            {index: (([semaphore], 1), tokens) for index, (semaphore, tokens) in plan.channels.items()},
            partial(self._up.send, "quarantined"),
            plan.checked,
            partial(SharedViews, plan.board),
            {op.node: self._share(op.node) for op in plan.lane.ops},
        )
        self._ops = assembly.ops(plan.lane, self._spans)
        for op in self._ops:
            try:
                self._nodes[op.node].start(assembly.context(op.node, plan.device))
            except BaseException as error:
                raise LifecycleError(op.node, "start", error) from error
            self._started.append(op.node)

    def _share(self, node: str) -> Share:
        kinds = [kind for producer, kind in self._plan.outgoing if producer == node]
        return sharing(node, kinds, partial(self._up.send, "value"))

    def _run(self) -> None:
        inbox, lags = self._inbox, self._plan.lags
        starve = partial(self._up.send, "starve") if lags else _nothing
        bell: Semaphore = inbox.bell
        lane_thread.run(self._ops, inbox, bell, starve, partial(self._up.send, "unstarve"), self._complete)

    def _complete(self, step: StepRecord) -> None:
        """All nodes of this lane are through with a step of which the run is told."""
        assert isinstance(step, AwayStep)
        if step.route not in self._plan.quiet:
            self._up.post("through", step.turn, step.own, step.packed_result, self._new_spans())
        else:
            self._up.post("spans", self._new_spans())

    def _new_spans(self) -> list[tuple[Any, ...]]:
        found = list(self._spans)
        self._spans.clear()
        return found

    def _stop(self) -> None:
        for node in reversed(self._started):
            try:
                self._nodes[node].stop()
            except BaseException as error:
                self._post_fault(LifecycleError(node, "stop", error))
        close_all(self._pools.values())

    def _post_counts(self, buffer: str, counts: ResourceCounts) -> None:
        """From the start on: before, the other side waits for the word that the nodes have started."""
        if self._is_up:
            self._up.post("resources", buffer, tuple(counts))

    def _post_fault(self, fault: Exception) -> None:
        self._up.post("stop_fault", pack_error(fault, self._plan.lane.name))


def _tell(up: Up, plan: Plan, turn: int, error: Exception) -> None:
    up.send("failed", turn, pack_error(error, plan.lane.name))


def _nothing() -> None:
    """Without lags nobody starves."""
