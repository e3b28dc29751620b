"""A run: resident lanes over one program, steps in, outcomes out in order.

Steps are admitted in turn under one lock; from there each goes from lane to lane by semaphores alone. A ticket
resolves when its step is complete, in order of submission, so no error can come after the result it belongs to, and
every slot of a resolved step has been given back.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import torch

from graph.bind import bind
from graph.bubbles import bubbles_needed
from graph.errors import InternalError, LifecycleError, QueueFull, RuntimeStopped, Stuck
from graph.firing import Firing
from graph.interpreter import SWITCH_INTERVAL_MS, steady
from graph.lanes import thread as lane_thread
from graph.lanes.thread import Ring, Shared
from graph.node import Context, Executor, Rows
from graph.order import entry_nodes
from graph.program import LaneProgram, Op, Program
from graph.rows import RequestRows
from graph.slots import Pool, Record, allocate
from graph.stepping import Outbox, StepRecord, stopped
from graph.trace import SPANS_KEPT, Span, Spans, collect
from graph.views import NodeViews
from graph.waits import wait_graph


class Runtime:
    """Runs a program with an executor's nodes; a context manager.

    Leaving the block normally drains; leaving it by an exception cancels steps that have not started and drains the
    rest. Raises `BindError` where the executor does not fit (see `bind` for the fallback), and `LifecycleError` on
    entry where a node does not start.

    `device` is where `place: device` buffers live; `queue` is how many steps may wait beyond those in flight;
    `threads` sets torch's threads on each lane; `switch_interval_ms` holds while the run is alive (None leaves the
    interpreter's own); `drain_timeout`, in seconds, bounds the wait for the lanes at the end (`Stuck`).
    """

    def __init__(
        self,
        program: Program,
        executor: Executor,
        *,
        device: str = "cpu",
        queue: int = 1,
        strict: bool = False,
        checked: bool = False,
        record: bool = True,
        threads: int | None = None,
        switch_interval_ms: float | None = SWITCH_INTERVAL_MS,
        drain_timeout: float | None = None,
    ) -> None:
        bound = bind(program, executor, strict=strict)
        self.program = bound.program
        self.fallback_reason = bound.reason
        self.executor = executor
        self.checked = checked
        self.capacity = self.program.depth + max(queue, 1)
        """Most steps that are submitted and not yet resolved; `submit` blocks beyond it."""
        self.quarantined: list[tuple[str, int, int]] = []
        """(buffer, slot, step) of slots that are kept out of use."""
        self.bubbles = 0
        topology = self.program.topology
        self.pools = allocate(topology, executor.dims, executor.resources, device)
        self.rows = _request_rows(self.pools)
        self._device, self._threads, self._drain_timeout = device, threads, drain_timeout
        self._switch_interval_ms = switch_interval_ms
        self._routes = {name: frozenset(nodes) for name, nodes in topology.steps_routes().items()}
        self._entries = entry_nodes(topology)
        names = [op.node for lane in self.program.lanes for op in lane.ops]
        self._position = {name: position for position, name in enumerate(names)}
        self._shared = Shared({}, [0] * len(names))
        self._spans: list[Spans] = [deque(maxlen=SPANS_KEPT if record else 0) for _ in self.program.lanes]
        self._admission = threading.Lock()
        self._room = threading.Semaphore(self.capacity)
        self._outbox = Outbox()
        self._turns = 0
        self._steps = 0
        window = 2 * self.capacity + self.program.depth + 3 * self.program.max_lag + 4
        self._kept = window + self.program.max_back
        self._closed = False
        self._fault: BaseException | None = None
        self._lane_faults: list[LifecycleError] = []
        self._views: list[NodeViews] = []
        self._channels: list[Ring] = [
            (_semaphores(channel.capacity, channel.tokens), channel.capacity) for channel in self.program.channels
        ]
        lags = self.program.graph.lag
        size = window + self.program.max_lag
        self._arrivals = {name: (_semaphores(size, lags[name]), size) for name in self._entries}
        self._ops = [self._bound_ops(lane, spans) for lane, spans in zip(self.program.lanes, self._spans, strict=True)]
        self._lanes: list[threading.Thread] = []
        self._scope = ExitStack()

    # -- starting and stopping -------------------------------------------------------------------------------------

    def __enter__(self) -> Runtime:
        if self._lanes or self._closed:
            raise RuntimeStopped("a run is entered once; make a new Runtime")
        self._scope.enter_context(steady(self._switch_interval_ms))
        ready = threading.Barrier(len(self.program.lanes) + 1)
        self._lanes = [
            threading.Thread(
                target=self._lane_main, args=(position, ready), name=f"laneflow-{lane.name}", daemon=True
            )
            for position, lane in enumerate(self.program.lanes)
        ]
        for lane in self._lanes:
            lane.start()
        try:
            ready.wait()
        except BaseException:
            ready.abort()
            self._give_up()
            raise
        if self._lane_faults:
            self._give_up()
            raise self._lane_faults[0]
        return self

    def _give_up(self) -> None:
        """End a run that did not start."""
        self._closed = True
        self._halt()
        self._join(None)
        self._lanes = []
        self._scope.close()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(cancel=kind is not None)

    def stop(self, *, cancel: bool = False) -> None:
        """Drain and end every lane; with `cancel`, steps that have not started end as `RuntimeStopped`.

        Raises `Stuck` after `drain_timeout` seconds, `InternalError` where a lane died of our own fault, and
        `LifecycleError` where a node's `stop` raised. A KeyboardInterrupt while draining ends the lanes after the
        calls that they are in.
        """
        with self._admission:
            first, self._closed = not self._closed, True
        if not self._lanes:
            return
        try:
            if cancel:
                for step in self._outbox.unstarted():
                    step.fail(stopped())
            if first:
                self._end_after_last()
            self._join(self._drain_timeout)
        except BaseException:
            self._halt()
            self._join(1.0)
            raise
        finally:
            self._outbox.abandon(stopped)
            self._scope.close()
        self._lanes = []
        if self._fault is not None:
            raise InternalError("a lane ended by a fault of laneflow's own") from self._fault
        if self._lane_faults:
            raise self._lane_faults[0]

    def _end_after_last(self) -> None:
        """Let every lane run on until lagged nodes have met the last step, then end."""
        with self._admission:
            self._shared.last_turn = self._turns + self.program.max_lag
            for _ in range(self.program.max_lag + 1):
                self._admit(StepRecord(self._turns))

    def _join(self, timeout: float | None) -> None:
        for lane in self._lanes:
            while lane.is_alive():
                lane.join(timeout if timeout is not None else 0.2)
                if timeout is not None and lane.is_alive():
                    raise Stuck(self.wait_graph())

    def _halt(self) -> None:
        """Wake every lane; each ends instead of going on."""
        self._shared.halted = True
        for locks, _ in (*self._channels, *self._arrivals.values()):
            for lock in locks:
                try:
                    lock.release()
                except RuntimeError:
                    continue  # it was not taken
        for _ in range(self.capacity):
            self._room.release()

    # -- steps in --------------------------------------------------------------------------------------------------

    def submit(
        self, command: Any, *, route: str | None = None, rows: Rows = (), block: bool = True
    ) -> Future[Any]:
        """Hand in a step; its ticket resolves to what the emitting node returned, or raises `StepError`.

        `rows` are the (row, generation) pairs of request-keyed state that the step touches. Blocks while the entry
        queue is full, or raises `QueueFull` if not `block`. Raises `RuntimeStopped` after the run has ended, and
        `ValueError` for a route or a row that does not exist. Callbacks on the ticket run on a lane: keep them short
        and never block in one.
        """
        name = route if route is not None else next(iter(self._routes))
        if name not in self._routes:
            raise ValueError(f"no route `{name}`; `{self.program.topology.topology}` has {', '.join(self._routes)}")
        if rows:
            if self.rows is None:
                raise ValueError(f"`{self.program.topology.topology}` keeps no request-keyed rows")
            self.rows.check(rows)
        if not self._lanes:
            raise RuntimeStopped("the run has not started or has ended")
        if not self._room.acquire(blocking=block):
            raise QueueFull(f"{self.capacity} steps are on their way")
        ticket: Future[Any] = Future()
        with self._admission:
            if self._closed or self._shared.halted:
                self._room.release()
                raise RuntimeStopped("the run has ended") from self._fault
            step = StepRecord(
                self._turns,
                index=self._steps,
                route=name,
                visits=self._routes[name],
                command=command,
                rows=rows,
                ticket=ticket,
            )
            self._steps += 1
            self._outbox.expect(step)
            self._admit(step)
        return ticket

    def map(self, commands: Iterable[Any], *, route: str | None = None) -> Iterator[Any]:
        """Results in order, lazily: at most `capacity` commands are taken ahead of the result that is asked for.

        A failed step raises its `StepError` here, in its place; steps already submitted run on.
        """
        pending: deque[Future[Any]] = deque()
        for command in commands:
            if len(pending) >= self.capacity:
                yield pending.popleft().result()
            pending.append(self.submit(command, route=route))
        while pending:
            yield pending.popleft().result()

    def _admit(self, step: StepRecord) -> None:
        """Announce the next turn's step to every entry node; the caller holds the admission lock."""
        self._shared.records[step.turn] = step
        self._shared.records.pop(step.turn - self._kept, None)
        self._shared.starved = False
        self._turns += 1
        for name, (locks, size) in self._arrivals.items():
            locks[(step.turn + self.program.graph.lag[name]) % size].release()

    # -- called by lanes -------------------------------------------------------------------------------------------

    def _starve(self) -> None:
        """An entry node found no step: from now on, until one arrives, see whether a bubble is called for."""
        if self.program.max_lag == 0:
            return
        with self._admission:
            self._shared.starved = True
        self._unstarve()

    def _unstarve(self) -> None:
        with self._admission:
            if self._closed or not self._shared.starved:
                return
            done = {name: self._shared.done[position] for name, position in self._position.items()}
            graph = self.program.graph
            needed = bubbles_needed(done, graph.lag, graph.arcs, self._entries, self._turns, self._works)
            for _ in range(needed):
                self.bubbles += 1
                self._admit(StepRecord(self._turns))

    def _works(self, node: str, turn: int) -> bool:
        step = self._shared.records.get(turn)
        return step is not None and node in step.visits and not step.complete

    def _through(self, step: StepRecord) -> None:
        """A node is through with the step; the last one completes it."""
        if step.pending.pop() == 0:
            self._outbox.complete(step)
            self._room.release()

    def _lane_main(self, position: int, ready: threading.Barrier) -> None:
        started: list[Op] = []
        try:
            if self._threads is not None:
                torch.set_num_threads(self._threads)
            try:
                for op in self.program.lanes[position].ops:
                    self._call_lifecycle(op, "start")
                    started.append(op)
            finally:
                ready.wait()
            if not self._lane_faults:
                lane_thread.run(self._ops[position], self._shared, self._starve, self._unstarve, self._through)
        except (LifecycleError, threading.BrokenBarrierError):
            pass  # noted already, and raised from `__enter__`
        except BaseException as fault:
            self._fault = fault
            self._halt()
            self._outbox.abandon(_internal)
        finally:
            for op in reversed(started):
                try:
                    self._call_lifecycle(op, "stop")
                except LifecycleError:
                    continue  # noted; the other nodes still stop
            if min(self._shared.done, default=0) > self._shared.last_turn:
                self._halt()  # wakes lanes of lagged nodes that had begun one turn more

    def _call_lifecycle(self, op: Op, phase: str) -> None:
        implementation = self.executor.nodes[op.node]
        try:
            if phase == "start":
                implementation.start(self._context(op.node))
            else:
                implementation.stop()
        except BaseException as error:
            fault = LifecycleError(op.node, phase, error)
            fault.__cause__ = error
            self._lane_faults.append(fault)
            raise fault from error

    # -- assembling ------------------------------------------------------------------------------------------------

    def _context(self, node: str) -> Context:
        topology = self.program.topology
        declared = topology.nodes[node]
        persistent = {
            use.buffer
            for use in (*declared.reads, *declared.writes)
            if topology.buffers[use.buffer].persistent
        }
        return Context(
            node,
            {**topology.dims, **self.executor.dims},
            tuple(self._routes),
            self._device,
            {name: _content(self.pools[name]) for name in sorted(persistent)},
        )

    def _bound_ops(self, lane: LaneProgram, spans: Spans) -> list[lane_thread.Op]:
        return [self._bound_op(lane, op, spans) for op in lane.ops]

    def _bound_op(self, lane: LaneProgram, op: Op, spans: Spans) -> lane_thread.Op:
        topology = self.program.topology
        views = NodeViews(op.node, topology, self.pools, self._failed)
        self._views.append(views)
        firing = Firing(
            op.node,
            self.executor.nodes[op.node],
            topology,
            lane.name,
            self.pools,
            views,
            spans if spans.maxlen else None,
            self._shared.records.get,
            self._quarantine,
            self.checked,
        )
        signals = [
            (self._channels[index][0], self._channels[index][1], self.program.channels[index].tokens)
            for index in op.signals
        ]
        arrival = self._arrivals[op.node] if op.entry else None
        waits = [self._channels[index] for index in op.waits]
        return lane_thread.Op(op.node, self._position[op.node], op.lag, firing, arrival, waits, signals)

    def _failed(self, turn: int) -> bool:
        step = self._shared.records.get(turn)
        return step is None or step.error is not None

    def _quarantine(self, buffer: str, slot: int, step: int) -> None:
        self.quarantined.append((buffer, slot, step))
        for views in self._views:
            views.forget()

    # -- looking at a run ------------------------------------------------------------------------------------------

    @property
    def topology_name(self) -> str:
        """The topology that runs, which is the fallback where `fallback_reason` says so."""
        return self.program.topology.topology

    def spans(self) -> list[Span]:
        """Every recorded firing so far, in order of start."""
        return collect(self._spans)

    def held_slots(self) -> list[tuple[str, int]]:
        """(buffer, slot) of every slot that a step holds; empty at rest."""
        return [
            (name, slot)
            for name, pool in self.pools.items()
            for slot, tenant in enumerate(pool.tenant)
            if tenant is not None
        ]

    def wait_graph(self) -> str:
        """Which node of which step each lane is in or waits at, and for what; can be asked for at any time."""
        done = {name: self._shared.done[position] for name, position in self._position.items()}
        return wait_graph(self.program, done, self._turns)


def _request_rows(pools: Mapping[str, Pool]) -> RequestRows | None:
    """An allocator for the rows of the request-keyed records: as many as the shortest of them has."""
    sizes = [
        tensor.shape[0]
        for pool in pools.values()
        if pool.buffer.keyed_by is not None
        for tensor in pool.tensors()
        if tensor.dim() > 0
    ]
    return RequestRows(min(sizes)) if sizes else None


def _internal() -> InternalError:
    return InternalError("a lane ended by a fault of laneflow's own; please report it")


def _content(pool: Pool) -> Any:
    return Record(pool.slots[0]) if pool.is_record else pool.slots[0]


def _semaphores(count: int, free: int) -> list[threading.Lock]:
    """Binary semaphores of which the first `free` are open."""
    locks = [threading.Lock() for _ in range(max(count, 1))]
    for lock in locks[free:]:
        lock.acquire()
    return locks
