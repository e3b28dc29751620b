"""What a run is put together from, before any of it starts."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from graph.admission import Admission
from graph.assembly import Assembly
from graph.lanes.processes import Options, Processes
from graph.lanes.queue import MakeQueue, queue_maker
from graph.lanes.stream import StreamLane
from graph.lanes.thread import Op, Ring, Semaphore, Shared
from graph.makers import ResourceCounts
from graph.node import Executor
from graph.program import Program
from graph.shared_slots import SharedViews
from graph.slots import Pool, allocate
from graph.trace import SPANS_KEPT, Spans
from graph.views import NodeViews


@dataclass
class Parts:
    """The parts of one run. Of lanes in processes of their own only what is in the process of the run."""

    program: Program
    executor: Executor
    options: Options
    position: Mapping[str, int]
    """Index of each node in the count of turns that it is through."""
    pools: Mapping[str, Pool]
    shared: Shared
    admission: Admission
    channels: list[Ring]
    assembly: Assembly
    spans: list[Spans]
    """By lane, in the order of the program."""
    ops: list[list[Op]]
    """The same; empty for a process lane."""
    streams: Mapping[str, StreamLane]
    make_queue: MakeQueue | None
    """None where no lane is a stream."""
    processes: Processes | None
    """None where no lane is in a process."""
    away_spans: dict[str, int] = field(default_factory=dict)
    """How many spans have come from each process lane; of older ones the span may be dropped."""
    away_resources: dict[str, ResourceCounts] = field(default_factory=dict)
    """Of resource buffers that live with a process lane, as last heard."""

    def done(self) -> dict[str, int]:
        """For each node, how many turns it is through."""
        return {name: self.shared.done[position] for name, position in self.position.items()}

    def resources(self) -> dict[str, ResourceCounts]:
        """For each resource buffer, wherever its objects live."""
        here = {name: pool.counts() for name, pool in self.pools.items()}
        return {name: counts for name, counts in here.items() if counts is not None} | self.away_resources

    def dropped(self) -> dict[str, int]:
        """By lane, how many spans are not kept any more."""
        found = {}
        for lane, ops, spans in zip(self.program.lanes, self.ops, self.spans, strict=True):
            fired = sum(op.firing.fired for op in ops) + self.away_spans.get(lane.name, 0)
            found[lane.name] = max(0, fired - len(spans))
        return found


def put_together(
    program: Program,
    executor: Executor,
    options: Options,
    capacity: int,
    completion_timeout: float | None,
    make_queue: MakeQueue | None,
    on_quarantine: Callable[[str, int, int], None],
    on_fault: Callable[[Exception], None],
) -> Parts:
    """The parts of a run whose executor fits the program.

    `capacity` is the most steps that are submitted and not yet resolved; `on_fault` is called where a resource does
    not close. Raises `BindError` where memory, a factory or a queue is not to be had.
    """
    topology, device = program.topology, options.device
    names = [op.node for lane in program.lanes for op in lane.ops]
    position = {name: index for index, name in enumerate(names)}
    processes: Processes | None = None
    if any(lane.worker == "process" for lane in program.lanes):
        processes = Processes(program, executor, position, capacity, options)
    pools: Mapping[str, Pool]
    if processes is None:
        pools = allocate(topology, executor.dims, executor.resources, device, on_fault)
        shared = Shared({}, [0] * len(names))
        admission = Admission(program, shared, position, capacity)
    else:
        pools, shared = processes.pools(on_fault), processes.shared
        admission = Admission(
            program, shared, position, capacity, processes.new_record, processes.lanes.values()
        )
    streams = {
        lane.name: StreamLane(lane, topology, program.graph, shared, completion_timeout)
        for lane in program.lanes
        if lane.worker == "stream"
    }
    channels = _channels(program, processes)
    assembly = Assembly(
        topology,
        executor,
        pools,
        shared.records,
        position,
        {
            index: (ring, channel.tokens)
            for index, (ring, channel) in enumerate(zip(channels, program.channels, strict=True))
        },
        on_quarantine,
        options.checked,
        NodeViews if processes is None else partial(SharedViews, processes.board),
        {} if processes is None else processes.shares(),
    )
    spans: list[Spans] = [deque(maxlen=SPANS_KEPT if options.record else 0) for _ in program.lanes]
    ops = [
        assembly.ops(lane, kept) if lane.worker != "process" else []
        for lane, kept in zip(program.lanes, spans, strict=True)
    ]
    making = make_queue or (queue_maker(device) if streams else None)
    return Parts(
        program,
        executor,
        options,
        position,
        pools,
        shared,
        admission,
        channels,
        assembly,
        spans,
        ops,
        streams,
        making,
        processes,
    )


def _channels(program: Program, processes: Processes | None) -> list[Ring]:
    across = {} if processes is None else processes.rings
    return [
        across.get(index) or (_semaphores(channel.capacity, channel.tokens), channel.capacity)
        for index, channel in enumerate(program.channels)
    ]


def _semaphores(count: int, free: int) -> list[Semaphore]:
    """Binary semaphores of which the first `free` are open."""
    locks: list[Semaphore] = [threading.Lock() for _ in range(max(count, 1))]
    for lock in locks[free:]:
        lock.acquire()
    return locks
