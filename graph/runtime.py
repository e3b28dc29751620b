"""A run: resident lanes over one program, steps in, outcomes out in order.

Steps are admitted in turn under one lock; from there each goes from lane to lane by semaphores alone. A
ticket resolves when its step is complete, in order of submission, so no error can come after the result it
belongs to, and every slot of a resolved step has been given back.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any

import torch

from graph.admission import Admission
from graph.assembly import Assembly
from graph.bind import bind
from graph.checked import check_rest
from graph.errors import (
    BindError,
    DeviceLost,
    InternalError,
    LaneDied,
    LifecycleError,
    RuntimeStopped,
    StepError,
    Stuck,
)
from graph.interpreter import SWITCH_INTERVAL_MS, steady
from graph.lanes import thread as lane_thread
from graph.lanes.board import FREE
from graph.lanes.process import ProcessLane, Upcalls
from graph.lanes.processes import Options, Processes
from graph.lanes.queue import MakeQueue, queue_maker
from graph.lanes.stream import StreamLane
from graph.lanes.thread import LaneThread, Ring, Semaphore, Shared
from graph.makers import ResourceCounts
from graph.node import Executor, Rows
from graph.program import Op, Program
from graph.rows import RequestRows
from graph.shared_slots import SharedViews
from graph.slots import Pool, allocate, request_rows
from graph.stepping import StepRecord, cut_short, stopped
from graph.trace import SPANS_KEPT, Span, Spans, Trace, collect, read_clock, this_process, versions
from graph.views import NodeViews
from graph.waits import wait_graph

GRACE_S = 1.0
"""How long lanes that are stuck get to end once they have been let go."""


class Runtime:
    """Runs a program with an executor's nodes; a context manager.

    Leaving the block normally drains; leaving it by an exception cancels steps that have not started and
    drains the rest. Raises `BindError` where the executor does not fit (see `bind` for the fallback), and
    `LifecycleError` on entry where a node does not start.

    `device` is where `place: device` buffers live; `queue` is how many steps may wait beyond those in flight;
    `threads` sets torch's threads on each lane; `switch_interval_ms` holds while the run is alive (None
    leaves the interpreter's own); `drain_timeout`, in seconds, bounds the wait for the lanes at the end
    (`Stuck`). Of `stream` lanes, `completion_timeout`, in seconds, bounds the wait for a call to complete
    (`Unfinished`), and `make_queue` makes the queue of a lane where it is not to be that of the device.
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
        completion_timeout: float | None = None,
        make_queue: MakeQueue | None = None,
    ) -> None:
        _check_numbers(queue, threads, drain_timeout, completion_timeout)
        bound = bind(program, executor, strict=strict)
        self.program = bound.program
        self.fallback_reason = bound.reason
        self.executor = executor
        self.checked = checked
        self.capacity = self.program.depth + queue
        """Most steps that are submitted and not yet resolved; `submit` blocks beyond it."""
        self.quarantined: list[tuple[str, int, int]] = []
        """(buffer, slot, step) of slots that are kept out of use."""
        topology = self.program.topology
        count = request_rows(topology, executor.dims)
        self.rows = None if count is None else RequestRows(count)
        self._device, self._threads, self._drain_timeout = device, threads, drain_timeout
        self._switch_interval_ms = switch_interval_ms
        self._routes = {name: frozenset(nodes) for name, nodes in topology.steps_routes().items()}
        names = [op.node for lane in self.program.lanes for op in lane.ops]
        self._position = {name: position for position, name in enumerate(names)}
        self._lane_faults: list[Exception] = []
        """Of nodes that failed to start or to stop, of resources that did not close, and of lanes whose nodes could
        not be had."""
        self._away_resources: dict[str, ResourceCounts] = {}
        """Of resource buffers that live with a process lane, as last heard."""
        self._processes: Processes | None = None
        if any(lane.worker == "process" for lane in self.program.lanes):
            options = Options(device, checked, record, threads, switch_interval_ms)
            self._processes = Processes(self.program, executor, self._position, self.capacity, options)
            self.pools: Mapping[str, Pool] = self._processes.pools(self._lane_faults.append)
            self._shared: Shared = self._processes.shared
        else:
            self.pools = allocate(
                topology, executor.dims, executor.resources, device, self._lane_faults.append
            )
            self._shared = Shared({}, [0] * len(names))
        self._admission = self._new_admission()
        self._outbox = self._admission.outbox
        self._streams = {
            lane.name: StreamLane(lane, topology, self.program.graph, self._shared, completion_timeout)
            for lane in self.program.lanes
            if lane.worker == "stream"
        }
        self._make_queue = make_queue or (queue_maker(device) if self._streams else None)
        self._spans: list[Spans] = [deque(maxlen=SPANS_KEPT if record else 0) for _ in self.program.lanes]
        self._fault: BaseException | None = None
        self._channels = self._new_channels()
        self._assembly = self._new_assembly()
        self._views = self._assembly.views
        self._ops = [
            self._assembly.ops(lane, spans) if lane.worker != "process" else []
            for lane, spans in zip(self.program.lanes, self._spans, strict=True)
        ]
        self._away_spans = dict.fromkeys((lane.name for lane in self.program.lanes), 0)
        """How many spans have come from each process lane; of older ones the span may be dropped."""
        self._ready = threading.Barrier(len(self.program.lanes) + 1)
        self._lanes: list[LaneThread] = []
        self._forgetting = threading.Lock()
        """Held while lanes and semaphores are let go of, or looked at for the last time."""
        self._scope = ExitStack()

    def _new_admission(self) -> Admission:
        if self._processes is None:
            return Admission(self.program, self._shared, self._position, self.capacity)
        return Admission(
            self.program,
            self._shared,
            self._position,
            self.capacity,
            self._processes.new_record,
            self._processes.lanes.values(),
        )

    def _new_channels(self) -> list[Ring]:
        across = {} if self._processes is None else self._processes.rings
        return [
            across.get(index) or (_semaphores(channel.capacity, channel.tokens), channel.capacity)
            for index, channel in enumerate(self.program.channels)
        ]

    def _new_assembly(self) -> Assembly:
        tokens = [channel.tokens for channel in self.program.channels]
        processes = self._processes
        return Assembly(
            self.program.topology,
            self.executor,
            self.pools,
            self._shared.records,
            self._position,
            dict(enumerate(zip(self._channels, tokens, strict=True))),
            self._quarantine,
            self.checked,
            NodeViews if processes is None else partial(SharedViews, processes.board),
            {} if processes is None else processes.shares(),
        )

    # -- starting and stopping -------------------------------------------------------------------------------

    def __enter__(self) -> Runtime:
        if self._lanes or self._admission.closed:
            raise RuntimeStopped("a run is entered once; make a new Runtime")
        try:
            self._scope.enter_context(steady(self._switch_interval_ms))
            for pool in self.pools.values():
                pool.open()
            self._lanes = [
                LaneThread(f"laneflow-{lane.name}", self._main_of(position))
                for position, lane in enumerate(self.program.lanes)
            ] + [
                LaneThread(f"laneflow-{name}-completion", partial(self._completion_main, name))
                for name in self._streams
            ]
            for lane in self._lanes:
                lane.start()
            self._ready.wait()
            if self._lane_faults:
                raise self._lane_faults[0]
            self._check_fault()
            return self
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        """End a run that did not start."""
        try:
            self._ready.abort()
            self._admission.close()
            self._halt()
            if not self._join(GRACE_S if self._processes is not None else None):
                self._kill()
                self._join(None)
        finally:
            self._forget_lanes()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop(cancel=kind is not None)

    def stop(self, *, cancel: bool = False) -> None:
        """Drain and end every lane; with `cancel`, steps that have not started end as `RuntimeStopped`.

        Raises `Stuck` after `drain_timeout` seconds, `LaneDied` where the process of a lane ended,
        `InternalError` where a lane died of our own fault, and `LifecycleError` where a node's `stop` raised. A
        KeyboardInterrupt while draining ends the lanes after the calls that they are in; another one stops waiting
        for those. Not to be called on a lane.
        """
        if threading.current_thread() in self._lanes:
            raise RuntimeError(
                "stop() was called on a lane, which would wait for itself: call it on another thread"
            )
        self._stop(cancel=cancel)

    def _stop(self, cancel: bool) -> None:
        try:
            self._admission.close()
            if cancel:
                for step in self._outbox.unresolved():
                    step.cancel(stopped())
            self._admission.end()
            if not self._join(self._drain_timeout):
                raise Stuck(self.wait_graph())
            self._check_rest()
        except BaseException as error:
            self._halt()
            if not self._join(GRACE_S if isinstance(error, Stuck) else None):
                self._kill()
            raise
        finally:
            self._leave()
        self._check_fault()
        if self._lane_faults:
            raise self._lane_faults[0]

    def _check_rest(self) -> None:
        """In a checked run, once all lanes have ended as they should and the semaphores are still there."""
        with self._forgetting:
            if self.checked and self._lanes and not self._shared.halted and not self._lane_faults:
                check_rest(self.program, self._channels, self._done(), self.held_slots())

    def _check_fault(self) -> None:
        if isinstance(self._fault, LaneDied | DeviceLost):
            raise self._fault
        if self._fault is not None:
            raise InternalError("a lane ended by a fault of laneflow's own") from self._fault

    def _leave(self) -> None:
        """Leave no ticket unresolved and the interpreter as it was."""
        try:
            self._outbox.abandon(cut_short)
        except BaseException:  # a KeyboardInterrupt
            self._outbox.abandon(cut_short)
            raise
        finally:
            self._forget_lanes()

    def _forget_lanes(self) -> None:
        try:
            with self._forgetting:
                self._lanes = [lane for lane in self._lanes if not lane.over.is_set()]
                if not self._lanes:
                    for pool in reversed([*self.pools.values()]):
                        pool.close()
                if self._processes is not None:
                    self._processes.kill() if self._lanes else self._processes.close()
        finally:
            self._scope.close()

    def _join(self, timeout: float | None) -> bool:
        """Wait for the lanes to end; False where some have not after `timeout` seconds."""
        until = None if timeout is None else monotonic() + timeout
        for lane in self._lanes:
            if lane.ident is None:
                continue  # it could not be started
            while not lane.over.wait(0.2 if until is None else min(0.2, max(until - monotonic(), 0))):
                if until is not None and monotonic() >= until:
                    return False
            lane.join()
        return True

    def _kill(self) -> None:
        """End the processes of lanes that do not end by themselves."""
        if self._processes is not None:
            self._processes.kill()
            self._join(GRACE_S)

    def _halt(self) -> None:
        """Wake every lane; each ends instead of going on."""
        self._shared.halted = True
        self._admission.ring()
        for stream in self._streams.values():
            stream.wake()
        if self._processes is not None:
            self._processes.halt()
        for locks, _ in self._channels:
            for lock in locks:
                try:
                    lock.release()
                except RuntimeError:
                    continue  # it was not taken

    # -- steps in --------------------------------------------------------------------------------------------

    def submit(
        self, command: Any, *, route: str | None = None, rows: Rows = (), block: bool = True
    ) -> Future[Any]:
        """Hand in a step; its ticket resolves to what the emitting node returned, or raises `StepError`.

        `rows` are the (row, generation) pairs of request-keyed state that the step touches. Blocks while the
        entry queue is full, or raises `QueueFull` if not `block`. Raises `RuntimeStopped` after the run has
        ended, and `ValueError` for a route or a row that does not exist. Callbacks on the ticket run on a
        lane: keep them short. On a lane `submit` never blocks, since it would wait for itself: `QueueFull`.
        """
        name = route if route is not None else next(iter(self._routes))
        if name not in self._routes:
            raise ValueError(
                f"no route `{name}`; `{self.program.topology.topology}` has {', '.join(self._routes)}"
            )
        if rows:
            if self.rows is None:
                raise ValueError(f"`{self.program.topology.topology}` keeps no request-keyed rows")
            self.rows.check(rows)
        if not self._lanes:
            raise RuntimeStopped("the run has not started or has ended") from self._fault
        block = block and threading.current_thread() not in self._lanes
        return self._admission.submit(command, name, self._routes[name], rows, block)

    def map(self, commands: Iterable[Any], *, route: str | None = None) -> Iterator[Any]:
        """Results in order, lazily: at most `capacity` commands are taken ahead of the result asked for.

        A failed step raises its `StepError` here, in its place; steps already submitted run on.
        """
        pending: deque[Future[Any]] = deque()
        for command in commands:
            if len(pending) >= self.capacity:
                yield pending.popleft().result()
            pending.append(self.submit(command, route=route))
        while pending:
            yield pending.popleft().result()

    # -- called by lanes -------------------------------------------------------------------------------------

    def _through(self, step: StepRecord) -> None:
        """A node is through with the step; the last one completes it."""
        if step.pending.pop() == 0:
            self._outbox.complete(step)

    def _lane_main(self, position: int) -> None:
        lane = self.program.lanes[position]
        stream = self._streams.get(lane.name)
        started: list[Op] = []
        try:
            try:
                if self._threads is not None:
                    torch.set_num_threads(self._threads)
                if stream is not None:
                    self._open_stream(stream)
                for op in lane.ops:
                    self._call_lifecycle(op, "start")
                    started.append(op)
            finally:
                self._ready.wait()
            bell, admission = self._admission.bell(lane.name), self._admission
            if stream is not None:
                stream.launch(self._ops[position], bell, admission.starve)
                return
            lane_thread.run(
                self._ops[position], self._shared, bell, admission.starve, admission.unstarve, self._through
            )
        except (BindError, LifecycleError, threading.BrokenBarrierError):
            pass  # noted already, and raised from `__enter__`
        except BaseException as fault:
            self._died(fault)
        finally:
            if stream is not None:
                stream.close()
            for op in reversed(started):
                try:
                    self._call_lifecycle(op, "stop")
                except LifecycleError:
                    continue  # noted; the other nodes still stop

    def _open_stream(self, stream: StreamLane) -> None:
        """Make the lane's queue; a thread that does the work of a queue gets as many torch threads as a lane."""
        assert self._make_queue is not None
        try:
            stream.open(self._make_queue, self._device)
        except Exception as error:
            fault = BindError(f"lane `{stream.name}` gets no queue on `{self._device}`: {error!r}")
            fault.__cause__ = error
            self._lane_faults.append(fault)
            raise fault from error
        if self._threads is not None and stream.queue is not None:
            stream.queue.enqueue(partial(torch.set_num_threads, self._threads))
            stream.queue.mark()  # it is no part of the first call

    def _completion_main(self, name: str) -> None:
        try:
            self._streams[name].complete(
                self._admission.unstarve, self._through, partial(self._device_lost, name)
            )
        except BaseException as fault:
            self._died(fault)

    def _device_lost(self, name: str, error: DeviceLost) -> None:
        """End the run in order: steps that have yet to come to the lane's device fail, others come to their end."""
        self._fault = self._fault or error
        self._admission.close()
        ops = next(lane.ops for lane in self.program.lanes if lane.name == name)
        for step in self._outbox.unresolved():
            ahead = (
                op.node
                for op in ops
                if op.node in step.visits and self._shared.done[self._position[op.node]] <= step.turn + op.lag
            )
            node = next(ahead, None)
            if node is not None and not step.cancel(stopped()):
                failure = StepError(node, step.index, error)
                failure.__cause__ = error
                step.fail(failure)
        self._admission.end()

    def _main_of(self, position: int) -> Callable[[], None]:
        lane = self.program.lanes[position]
        if self._processes is None or lane.worker != "process":
            return partial(self._lane_main, position)
        return partial(self._process_main, position, self._processes, self._processes.lanes[lane.name])

    def _process_main(self, position: int, processes: Processes, lane: ProcessLane) -> None:
        """Stands here for a lane that is in another process."""
        try:
            try:
                lane.start()
            except (BindError, LifecycleError) as fault:
                self._lane_faults.append(fault)
                return
            finally:
                self._ready.wait()
            lane.serve(self._upcalls(position, processes, lane.name))
        except threading.BrokenBarrierError:
            pass  # the run has not started
        except BaseException as fault:
            if not lane.killed:
                self._died(fault)
        finally:
            lane.end()

    def _upcalls(self, position: int, processes: Processes, lane: str) -> Upcalls:
        def through(turn: int, nodes: int, result: bytes | None) -> None:
            step = self._shared.records.get(turn)
            if step is None:
                return  # given up meanwhile
            if result is not None:
                processes.take_result(lane, step, result)
            for _ in range(nodes):
                self._through(step)

        def spans(found: list[tuple[Any, ...]]) -> None:
            self._spans[position].extend(found)
            self._away_spans[lane] += len(found)

        def resources(buffer: str, counts: tuple[int, ...]) -> None:
            self._away_resources[buffer] = ResourceCounts(*counts)

        return Upcalls(
            through,
            spans,
            processes.value,
            partial(processes.failed, lane),
            self._admission.starve,
            self._admission.unstarve,
            self._quarantine,
            self._lane_faults.append,
            resources,
        )

    def _quarantine(self, buffer: str, slot: int, step: int) -> None:
        self.quarantined.append((buffer, slot, step))

    def _died(self, fault: BaseException) -> None:
        """The lane cannot go on: end the run, and let nobody wait for what will not come."""
        self._fault = self._fault or fault
        self._admission.close()
        self._halt()
        died = self._fault
        self._outbox.abandon(
            partial(LaneDied, died.lane, died.exit_code) if isinstance(died, LaneDied) else _internal
        )

    def _call_lifecycle(self, op: Op, phase: str) -> None:
        implementation = self.executor.nodes[op.node]
        try:
            if phase == "start":
                stream = self._streams.get(self.program.graph.lane[op.node])
                queue = None if stream is None else stream.queue
                implementation.start(self._assembly.context(op.node, self._device, queue))
            else:
                implementation.stop()
        except BaseException as error:
            fault = LifecycleError(op.node, phase, error)
            fault.__cause__ = error
            self._lane_faults.append(fault)
            raise fault from error

    # -- looking at a run ------------------------------------------------------------------------------------

    @property
    def topology_name(self) -> str:
        """The topology that runs, which is the fallback where `fallback_reason` says so."""
        return self.program.topology.topology

    def spans(self) -> list[Span]:
        """Every recorded firing so far, in order of start."""
        return collect(self._spans)

    def trace(self, rank: int = 0, notes: Mapping[str, str] | None = None) -> Trace:
        """The run so far, to be written or reported.

        `rank` tells the processes of one run apart; `notes` is what the application has to say of the run.
        """
        fired = [
            sum(op.firing.fired for op in ops) + self._away_spans[lane.name]
            for lane, ops in zip(self.program.lanes, self._ops, strict=True)
        ]
        kept = [len(spans) for spans in self._spans]
        lanes = [lane.name for lane in self.program.lanes]
        return Trace(
            topology=self.program.topology,
            spans=tuple(self.spans()),
            clock=read_clock(),
            process=this_process(rank),
            dims={**self.program.topology.dims, **self.executor.dims},
            fallback=self.fallback_reason,
            versions=versions(),
            dropped={
                lane: max(0, count - left) for lane, count, left in zip(lanes, fired, kept, strict=True)
            },
            bubbles=self.bubbles,
            notes=notes or {},
        )

    def held_slots(self) -> list[tuple[str, int]]:
        """(buffer, slot) of every slot that a step holds; empty at rest."""
        return [
            (name, slot)
            for name, pool in self.pools.items()
            for slot, tenant in enumerate(pool.tenant)
            if tenant != FREE
        ]

    def resources(self) -> dict[str, ResourceCounts]:
        """For each buffer of a resource, how many of its objects were made, retired, rebuilt and are live."""
        here = {name: pool.counts() for name, pool in self.pools.items()}
        return {name: counts for name, counts in here.items() if counts is not None} | self._away_resources

    def wait_graph(self) -> str:
        """Which node of which step each lane is in or waits at, and for what; to be had at any time."""
        return wait_graph(self.program, self._done(), self._shared.arrived, self._step_name)

    @property
    def bubbles(self) -> int:
        """Turns that went by without a step, so that no result had to wait for one."""
        return self._admission.bubbles

    def _done(self) -> dict[str, int]:
        """For each node, how many turns it is through."""
        return {name: self._shared.done[position] for name, position in self._position.items()}

    def _step_name(self, turn: int) -> str:
        if turn >= self._shared.arrived:
            return "the next step"
        step = self._shared.records.get(turn)
        return "no step" if step is None else f"step {step.index}"


def _check_numbers(
    queue: int, threads: int | None, drain_timeout: float | None, completion_timeout: float | None
) -> None:
    if queue < 1:
        raise ValueError(f"queue={queue}: at least one step must be able to wait")
    if threads is not None and threads < 1:
        raise ValueError(f"threads={threads}: a lane needs at least one, or None to leave torch alone")
    if completion_timeout is not None and completion_timeout <= 0:
        raise ValueError(
            f"completion_timeout={completion_timeout}: it is over 0 seconds, or None for no limit"
        )
    if drain_timeout is not None and drain_timeout < 0:
        raise ValueError(f"drain_timeout={drain_timeout}: it is 0 or more seconds, or None for no limit")


def _internal() -> InternalError:
    return InternalError("a lane ended by a fault of laneflow's own; please report it")


def _semaphores(count: int, free: int) -> list[Semaphore]:
    """Binary semaphores of which the first `free` are open."""
    locks: list[Semaphore] = [threading.Lock() for _ in range(max(count, 1))]
    for lock in locks[free:]:
        lock.acquire()
    return locks
