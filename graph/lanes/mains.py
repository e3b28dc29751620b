"""What the thread of each lane does from start to end: start the nodes, run the lane by its worker, stop the nodes.

Faults outside of any step are noted: those of nodes that do not start or stop among `faults`; what a lane cannot go
on after is handed to `died`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from graph.errors import BindError, DeviceLost, LifecycleError, StepError
from graph.lanes import thread as lane_thread
from graph.lanes.process import ProcessLane, Upcalls
from graph.lanes.processes import Processes
from graph.lanes.stream import StreamLane
from graph.lanes.thread import LaneThread
from graph.lanes.torch_threads import set_up_torch
from graph.makers import ResourceCounts
from graph.parts import Parts
from graph.program import LaneProgram, Op
from graph.stepping import StepRecord, stopped


class Mains:
    """The mains of one run's lanes. `ready` is passed by every lane once its nodes have started, or have failed to."""

    def __init__(
        self,
        parts: Parts,
        ready: threading.Barrier,
        faults: list[Exception],
        died: Callable[[BaseException], None],
        on_lost: Callable[[DeviceLost], None],
        on_quarantine: Callable[[str, int, int], None],
    ) -> None:
        self._parts, self._ready, self._faults = parts, ready, faults
        self._died, self._on_lost, self._on_quarantine = died, on_lost, on_quarantine
        self._outbox = parts.admission.outbox
        self.queue_threads: list[threading.Thread] = []
        """Threads of queues: they are no lanes, and what they wait for may wait for them all the same."""

    def threads(self) -> list[LaneThread]:
        """One for each lane, and for each stream lane another that completes what was launched; none is started."""
        mains = [
            LaneThread(f"laneflow-{lane.name}", self._main_of(position))
            for position, lane in enumerate(self._parts.program.lanes)
        ]
        completing = [
            LaneThread(f"laneflow-{name}-completion", partial(self._complete, stream))
            for name, stream in self._parts.streams.items()
        ]
        return mains + completing

    def _main_of(self, position: int) -> Callable[[], None]:
        lane, processes = self._parts.program.lanes[position], self._parts.processes
        if processes is None or lane.worker != "process":
            return partial(self._run, position)
        return partial(self._stand_in, position, processes, processes.lanes[lane.name])

    def _through(self, step: StepRecord) -> None:
        """A node is through with the step; the last one completes it."""
        if step.pending.pop() == 0:
            self._outbox.complete(step)

    # -- a lane on a thread, or on a stream ------------------------------------------------------------------

    def _run(self, position: int) -> None:
        parts = self._parts
        lane, ops = parts.program.lanes[position], parts.ops[position]
        stream = parts.streams.get(lane.name)
        started: list[Op] = []
        try:
            try:
                self._start(lane, stream, started)
            finally:
                self._ready.wait()
            admission = parts.admission
            bell = admission.bell(lane.name)
            if stream is not None:
                stream.launch(ops, bell, admission.starve)
            else:
                lane_thread.run(
                    ops, parts.shared, bell, admission.starve, admission.unstarve, self._outbox.complete
                )
        except (BindError, LifecycleError, threading.BrokenBarrierError):
            pass  # noted already, and raised where the run is entered
        except BaseException as fault:
            self._died(fault)
        finally:
            self._stop(stream, started)

    def _start(self, lane: LaneProgram, stream: StreamLane | None, started: list[Op]) -> None:
        set_up_torch(self._parts.options.threads)
        if stream is not None:
            self._open(stream)
        for op in lane.ops:
            context = self._parts.assembly.context(
                op.node, self._parts.options.device, None if stream is None else stream.queue
            )
            self._lifecycle(op.node, "start", context)
            started.append(op)

    def _stop(self, stream: StreamLane | None, started: list[Op]) -> None:
        if stream is not None:
            try:
                stream.close()
            except Exception as error:
                self._note(stream.name, "close", error)
        for op in reversed(started):
            try:
                self._lifecycle(op.node, "stop")
            except LifecycleError:
                continue  # noted; the other nodes still stop

    def _lifecycle(self, node: str, phase: str, *arguments: Any) -> None:
        try:
            getattr(self._parts.executor.nodes[node], phase)(*arguments)
        except BaseException as error:
            raise self._note(node, phase, error) from error

    def _note(self, what: str, phase: str, error: BaseException) -> LifecycleError:
        fault = LifecycleError(what, phase, error)
        self._faults.append(fault)
        return fault

    def _open(self, stream: StreamLane) -> None:
        """Make the lane's queue; a thread that does the work of a queue is set up as that of a lane."""
        parts, device = self._parts, self._parts.options.device
        assert parts.make_queue is not None
        try:
            queue = stream.open(parts.make_queue, device)
            queue.enqueue(partial(self._set_up_queue, threading.current_thread()))
            queue.mark()  # it is no part of the first call
        except Exception as error:
            fault = BindError(f"lane `{stream.name}` gets no queue on `{device}`: {error!r}")
            fault.__cause__ = error
            self._faults.append(fault)
            raise fault from error

    def _set_up_queue(self, lane: threading.Thread) -> None:
        """On the thread that does the work of a lane's queue."""
        if threading.current_thread() is not lane:
            set_up_torch(self._parts.options.threads)
            self.queue_threads.append(threading.current_thread())

    def _complete(self, stream: StreamLane) -> None:
        try:
            stream.complete(self._parts.admission.unstarve, self._through, partial(self._lost, stream.name))
        except BaseException as fault:
            self._died(fault)

    def _lost(self, name: str, error: DeviceLost) -> None:
        """End the run in order: steps that have yet to come to the lane's device fail, others come to their end."""
        parts = self._parts
        self._on_lost(error)
        parts.admission.close()
        ops = next(lane.ops for lane in parts.program.lanes if lane.name == name)
        for step in self._outbox.unresolved():
            ahead = (
                op.node
                for op in ops
                if op.node in step.visits and parts.shared.done[parts.position[op.node]] <= step.turn + op.lag
            )
            node = next(ahead, None)
            if node is not None and not step.cancel(stopped()):
                step.fail(StepError(node, step.index, error))
        parts.admission.end()

    # -- a lane in a process ---------------------------------------------------------------------------------

    def _stand_in(self, position: int, processes: Processes, lane: ProcessLane) -> None:
        """Stands here for a lane that is in another process."""
        try:
            try:
                lane.start()
            except (BindError, LifecycleError) as fault:
                self._faults.append(fault)
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
        parts = self._parts

        def through(turn: int, nodes: int, result: bytes | None) -> None:
            step = parts.shared.records.get(turn)
            if step is None:
                return  # given up meanwhile
            if result is not None:
                processes.take_result(lane, step, result)
            for _ in range(nodes):
                self._through(step)

        def spans(found: list[tuple[Any, ...]]) -> None:
            parts.spans[position].extend(found)
            parts.away_spans[lane] = parts.away_spans.get(lane, 0) + len(found)

        def resources(buffer: str, counts: tuple[int, ...]) -> None:
            parts.away_resources[buffer] = ResourceCounts(*counts)

        return Upcalls(
            through,
            spans,
            processes.value,
            partial(processes.failed, lane),
            parts.admission.starve,
            parts.admission.unstarve,
            self._on_quarantine,
            self._faults.append,
            resources,
        )
