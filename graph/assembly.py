"""From a lane of the program to the entries that its worker runs, in the process where the lane is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from graph.firing import Firing
from graph.lanes.queue import Queue
from graph.lanes.thread import Op, Records, Ring
from graph.launching import Launching
from graph.node import Context, Executor
from graph.program import LaneProgram
from graph.slots import Pool, Record
from graph.stepping import StepRecord
from graph.topology import Topology
from graph.trace import Spans
from graph.views import NodeViews

Share = Callable[[StepRecord], None]


@dataclass
class Assembly:
    """What all lanes of one run in one process are put together from."""

    topology: Topology
    executor: Executor
    pools: Mapping[str, Pool]
    records: Records
    positions: Mapping[str, int]
    """Index of each node in the count of turns that it is through."""
    rings: Mapping[int, tuple[Ring, int]]
    """By channel, its semaphores and tokens."""
    on_quarantine: Callable[[str, int, int], None]
    checked: bool
    make_views: Callable[..., NodeViews] = NodeViews
    shares: Mapping[str, Share] = field(default_factory=dict)
    """By node, what tells other processes that it has run and sends its values there."""
    views: list[NodeViews] = field(default_factory=list)
    """Of every node assembled so far."""

    def ops(self, lane: LaneProgram, spans: Spans) -> list[Op]:
        """The lane's entries in order; `spans` of length 0 records nothing."""
        found = []
        for op in lane.ops:
            waits = [self.rings[index][0] for index in op.waits]
            signals = [(*self.rings[index][0], self.rings[index][1]) for index in op.signals]
            firing = self._firing(op.node, lane.name, spans)
            found.append(Op(op.node, self.positions[op.node], op.lag, firing, op.entry, waits, signals))
        return found

    def _firing(self, node: str, lane: str, spans: Spans) -> Firing:
        views = self.make_views(node, self.topology, self.pools, self._failed)
        self.views.append(views)
        make = Launching if self.topology.lanes[lane].worker == "stream" else Firing
        return make(
            node,
            self.executor.nodes[node],
            self.topology,
            lane,
            self.pools,
            views,
            spans if spans.maxlen else None,
            self.records.get,
            self._quarantine,
            self.checked,
            self.shares.get(node),
        )

    def _failed(self, turn: int) -> bool:
        step = self.records.get(turn)
        return step is None or step.error is not None

    def _quarantine(self, buffer: str, slot: int, step: int) -> None:
        self.on_quarantine(buffer, slot, step)
        for views in self.views:
            views.forget()

    def context(self, node: str, device: str, stream: Queue | None = None) -> Context:
        """What the node is told at start."""
        declared, buffers = self.topology.nodes[node], self.topology.buffers
        used = sorted({use.buffer for use in (*declared.reads, *declared.writes)})
        return Context(
            node,
            {**self.topology.dims, **self.executor.dims},
            tuple(self.topology.steps_routes()),
            device,
            {name: _content(self.pools[name]) for name in used if buffers[name].persistent},
            stream,
            {name: buffers[name].slots for name in used if not buffers[name].persistent},
        )


def _content(pool: Pool) -> Any:
    return Record(pool.content(0)) if pool.is_record else pool.content(0)
