"""A run: resident lanes over one program, steps in, outcomes out in order.

Steps are admitted in turn under one lock; from there each goes from lane to lane by semaphores alone. A
ticket resolves when its step is complete, in order of submission, so no error can come after the result it
belongs to, and every slot of a resolved step has been given back.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any

from graph.arguments import check_numbers, check_parts
from graph.bind import bind
from graph.checked import check_rest
from graph.errors import (
    DeviceLost,
    InternalError,
    LaneDied,
    RuntimeStopped,
    Stuck,
)
from graph.interpreter import SWITCH_INTERVAL_MS, steady
from graph.lanes.board import FREE
from graph.lanes.mains import Mains
from graph.lanes.processes import Options
from graph.lanes.queue import MakeQueue
from graph.lanes.thread import LaneThread
from graph.makers import ResourceCounts
from graph.node import Executor, Rows
from graph.parts import put_together
from graph.program import Program
from graph.rows import RequestRows
from graph.slots import close_all, request_rows
from graph.stepping import cut_short, stopped
from graph.trace import Span, Trace, collect, read_clock, settings, this_process, versions
from graph.waits import wait_graph
from graph.wake_latency import waking_within

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
    (`Stuck`); `wake_latency_us` is how long a processor of the machine may take to wake from idle while the run is
    alive: at 0 idle ones poll, which costs power (None asks for nothing; `BindError` where the kernel does not take
    it). Of `stream` lanes, `completion_timeout`, in seconds, bounds the wait for a call to complete
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
        wake_latency_us: int | None = None,
        drain_timeout: float | None = None,
        completion_timeout: float | None = None,
        make_queue: MakeQueue | None = None,
    ) -> None:
        check_parts(program, executor)
        check_numbers(queue, threads, switch_interval_ms, drain_timeout, completion_timeout)
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
        self._drain_timeout, self._wake_latency_us = drain_timeout, wake_latency_us
        self._routes = {name: frozenset(nodes) for name, nodes in topology.steps_routes().items()}
        self._fault: BaseException | None = None
        """What has ended the run."""
        self._faults: list[Exception] = []
        """Of nodes that failed to start or to stop, of resources that did not close, and of lanes whose nodes could
        not be had."""
        options = Options(device, checked, record, threads, switch_interval_ms)
        self._parts = put_together(
            self.program,
            executor,
            options,
            self.capacity,
            completion_timeout,
            make_queue,
            self._quarantine,
            self._faults.append,
        )
        self.pools = self._parts.pools
        self._shared, self._admission = self._parts.shared, self._parts.admission
        self._outbox, self._processes = self._admission.outbox, self._parts.processes
        self._ready = threading.Barrier(len(self.program.lanes) + 1)
        self._mains = Mains(self._parts, self._ready, self._faults, self._died, self._lost, self._quarantine)
        self._lanes: list[LaneThread] = []
        self._forgetting = threading.Lock()
        """Held while lanes and semaphores are let go of, or looked at for the last time."""
        self._scope = ExitStack()

    # -- starting and stopping -------------------------------------------------------------------------------

    def __enter__(self) -> Runtime:
        if self._lanes or self._admission.closed:
            raise RuntimeStopped("a run is entered once; make a new Runtime")
        try:
            self._scope.enter_context(steady(self._parts.options.switch_interval_ms))
            self._scope.enter_context(waking_within(self._wake_latency_us))
            for pool in self.pools.values():
                pool.open()
            self._lanes = self._mains.threads()
            for lane in self._lanes:
                lane.start()
            self._ready.wait()
            if self._faults:
                raise self._faults[0]
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
            self._leave()

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
        if self._on_lane():
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
            if self._processes is not None:
                self._processes.tell_again(self._outbox.unresolved())
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
        if self._faults:
            raise self._faults[0]

    def _check_rest(self) -> None:
        """In a checked run, once all lanes have ended as they should and the semaphores are still there."""
        with self._forgetting:
            if self.checked and self._lanes and not self._shared.halted and not self._faults:
                check_rest(self.program, self._parts.channels, self._parts.done(), self.held_slots())

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
                if self._processes is not None:
                    self._processes.kill() if self._lanes else self._processes.close()
            if not self._lanes:  # not under the lock: how resources close is up to the user
                close_all(self.pools.values())
        finally:
            try:
                self._scope.close()
            except BaseException:  # a KeyboardInterrupt; closing twice is closing once
                self._scope.close()
                raise

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
        for stream in self._parts.streams.values():
            stream.wake()
        if self._processes is not None:
            self._processes.halt()
        for locks, _ in self._parts.channels:
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
        block = block and not self._on_lane()
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

    def _on_lane(self) -> bool:
        """Whether this thread would wait for itself."""
        return threading.current_thread() in (*self._lanes, *self._mains.queue_threads)

    # -- called by lanes -------------------------------------------------------------------------------------

    def _quarantine(self, buffer: str, slot: int, step: int) -> None:
        self.quarantined.append((buffer, slot, step))

    def _lost(self, error: DeviceLost) -> None:
        self._fault = self._fault or error

    def _died(self, fault: BaseException) -> None:
        """The lane cannot go on: end the run, and let nobody wait for what will not come."""
        self._fault = self._fault or fault
        self._admission.close()
        self._halt()
        died = self._fault
        self._outbox.abandon(
            partial(LaneDied, died.lane, died.exit_code) if isinstance(died, LaneDied) else _internal
        )

    # -- looking at a run ------------------------------------------------------------------------------------

    @property
    def topology_name(self) -> str:
        """The topology that runs, which is the fallback where `fallback_reason` says so."""
        return self.program.topology.topology

    def spans(self) -> list[Span]:
        """Every recorded firing so far, in order of start."""
        return collect(self._parts.spans)

    def trace(self, rank: int = 0, notes: Mapping[str, str] | None = None) -> Trace:
        """The run so far, to be written or reported.

        `rank` tells the processes of one run apart; `notes` is what the application has to say of the run.
        """
        return Trace(
            topology=self.program.topology,
            spans=tuple(self.spans()),
            clock=read_clock(),
            process=this_process(rank),
            dims={**self.program.topology.dims, **self.executor.dims},
            fallback=self.fallback_reason,
            versions=versions(),
            dropped=self._parts.dropped(),
            bubbles=self.bubbles,
            notes={
                **settings(self._parts.options.switch_interval_ms, self._wake_latency_us),
                **(notes or {}),
            },
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
        return self._parts.resources()

    def wait_graph(self) -> str:
        """Which node of which step each lane is in or waits at, and for what; to be had at any time."""
        return wait_graph(self.program, self._parts.done(), self._shared.arrived, self._step_name)

    @property
    def bubbles(self) -> int:
        """Turns that went by without a step, so that no result had to wait for one."""
        return self._admission.bubbles

    def _step_name(self, turn: int) -> str:
        if turn >= self._shared.arrived:
            return "the next step"
        step = self._shared.records.get(turn)
        return "no step" if step is None else f"step {step.index}"


def _internal() -> InternalError:
    return InternalError("a lane ended by a fault of laneflow's own; please report it")
