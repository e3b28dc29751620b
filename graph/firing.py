"""One node's call on one step: its slots, its values, its outcome and its span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from graph.errors import StepError, Unfinished
from graph.lanes.thread import Counts
from graph.node import Node, Rows
from graph.slots import Pool
from graph.stepping import StepRecord
from graph.topology import Topology
from graph.trace import Spans

if TYPE_CHECKING:
    from graph.views import NodeViews, Slots


class StepView:
    """The `Step` that a node sees; one object per node, pointed at a new step for each call."""

    __slots__ = ("_gives", "_node", "_record", "_record_at", "_sees_command", "_takes", "device")

    _record: StepRecord
    """Of the call that is under way; set by `Firing`."""

    def __init__(
        self, node: str, topology: Topology, node_ports: Node, record_at: Callable[[int], Any]
    ) -> None:
        self._node = node
        self._sees_command = topology.nodes[node].kind in ("prepare", "bind")
        self._record_at = record_at
        self._gives, self._takes = value_names(node, topology, node_ports)
        self.device = -1

    @property
    def gives(self) -> Iterable[str]:
        """The types of the values that the node may put."""
        return self._gives.values()

    @property
    def takes(self) -> Iterable[Sources]:
        """For each value that the node may get, where it comes from."""
        return self._takes.values()

    @property
    def index(self) -> int:
        return self._record.index

    @property
    def route(self) -> str:
        return self._record.route

    @property
    def command(self) -> Any:
        if not self._sees_command:
            raise AttributeError(
                f"`{self._node}` does not see the command: hand on what it needs from prepare or bind"
            )
        return self._record.command

    @property
    def rows(self) -> Rows:
        return self._record.rows

    @property
    def error(self) -> Exception | None:
        return self._record.error

    def put(self, name: str, value: Any) -> None:
        kind = self._gives.get(name)
        if kind is None:
            raise KeyError(f"`{self._node}` gives no value `{name}`; it gives {sorted(self._gives)}")
        self._record.values[self._node, kind] = value

    def get(self, name: str) -> Any:
        sources = self._takes.get(name)
        if sources is None:
            raise KeyError(f"`{self._node}` takes no value `{name}`; it takes {sorted(self._takes)}")
        for producer, back, kind in sources:
            record = self._record_at(self._record.turn - back) if back else self._record
            if record is None or (back and record.error is not None):
                continue  # no such step, or one that failed: as absent as its slots
            value = record.values.get((producer, kind))
            if value is not None:
                return value
        return None

    def device_time(self, nanoseconds: int) -> None:
        self.device = nanoseconds


Sources = tuple[tuple[str, int, str], ...]


def value_names(
    node: str, topology: Topology, implementation: Node
) -> tuple[dict[str, str], dict[str, Sources]]:
    """For each value a node gives, its type; for each it takes, the (producer, back, type) of its edges.

    A node without ports uses the type's name as the value's name.
    """
    given = {edge.value for key, edge in topology.edges.items() if key.producer == node and edge.value}
    brought: dict[str, list[tuple[str, int, str]]] = {}
    for key, edge in topology.edges.items():
        if key.consumer == node and edge.value:
            brought.setdefault(edge.value, []).append((key.producer, key.back, edge.value))
    ports = implementation.ports
    gives = {kind: kind for kind in given} if ports is None else dict(ports.gives)
    takes = {kind: kind for kind in brought} if ports is None else dict(ports.takes)
    return gives, {name: tuple(brought.get(kind, ())) for name, kind in takes.items()}


class Firing:
    """Calls one node; used by the node's lane alone."""

    __slots__ = (
        "acquires",
        "at_turn",
        "call",
        "checked",
        "emits",
        "fired",
        "implementation",
        "is_release",
        "lane",
        "node",
        "on_quarantine",
        "pools",
        "releases",
        "share",
        "spans",
        "step",
        "uses",
        "views",
        "writes",
    )

    def __init__(
        self,
        node: str,
        implementation: Node,
        topology: Topology,
        lane: str,
        pools: Mapping[str, Pool],
        views: NodeViews,
        spans: Spans | None,
        record_at: Callable[[int], StepRecord | None],
        on_quarantine: Callable[[str, int, int], None],
        checked: bool,
        share: Callable[[StepRecord], None] | None = None,
    ) -> None:
        declared = topology.nodes[node]
        self.node, self.lane = node, lane
        self.implementation = implementation
        self.call = self._guarded if checked else implementation.run
        self.step = StepView(node, topology, implementation, record_at)
        self.views, self.at_turn = views, views.at_turn
        self.spans = spans
        self.acquires = [_held(pools[name]) for name in declared.acquires]
        self.releases = [(pools[name], *_held(pools[name])) for name in declared.releases]
        self.uses = (*declared.reads, *declared.writes)
        self.pools = pools
        self.writes = () if share is not None else declared.writes
        """What the step is told to have been written; with `share` others know it from the node's having run."""
        self.is_release = declared.kind == "release"
        self.emits = declared.emits is not None
        self.checked = checked
        self.on_quarantine = on_quarantine
        self.share = share
        """Tells other processes that the node has run, and sends its values there."""
        self.fired = 0
        """Calls made; of older ones the span may be dropped."""

    def fire(self, record: StepRecord, came: int) -> None:
        """Run the node, or pass it where the step has failed; then give back what the node releases.

        `came` is when the lane came to the node; what followed until now was waiting.
        """
        if not record.started:
            record.start()
        turn = record.turn
        failed = record.error is not None
        if not failed:
            for tenant, count in self.acquires:
                tenant[turn % count] = turn
        elif not self.is_release:
            return
        step = self.step
        step._record, step.device = record, -1
        fault = None
        start = perf_counter_ns()
        try:
            slots = self.views.after_failure(turn, record.all_written()) if failed else self.at_turn(turn)
            result = self.call(step, slots)
            if self.emits:
                record.result = result
            if self.share is not None:
                self.share(record)
            if self.writes:
                record.written.extend(self.writes)
        except BaseException as error:
            fault = str(self._failed(record, error))
        end = perf_counter_ns()
        for pool, tenant, count in self.releases:
            slot = turn % count
            if tenant[slot] == turn:
                self._give_back(pool, slot, record)
        if self.spans is not None:
            self.fired += 1
            self.spans.append(  # the fields of a `Span`
                (
                    self.node,
                    record.index,
                    turn,
                    record.route,
                    self.lane,
                    record.submitted,
                    came,
                    start,
                    end,
                    step.device,
                    record.rows,
                    fault,
                )
            )

    def _failed(self, record: StepRecord, error: BaseException) -> StepError:
        failure = StepError(self.node, record.index, error)
        record.fail(failure)
        for kind in self.step.gives:
            record.values.pop((self.node, kind), None)
        if isinstance(error, Unfinished):
            for use in self.uses:
                pool, turn = self.pools[use.buffer], record.turn - use.back
                if not pool.buffer.persistent and pool.holds(turn):
                    pool.suspect.add(turn % pool.buffer.slots)
        return failure

    def _give_back(self, pool: Pool, slot: int, record: StepRecord) -> None:
        if self.checked and slot not in pool.suspect:
            from graph.checked import poison

            poison(pool, slot)
        if pool.give_back(slot):
            self.on_quarantine(pool.name, slot, record.index)

    def _guarded(self, step: StepView, slots: Slots) -> Any:
        from graph.checked import guarded_call

        return guarded_call(self.implementation.run, step, slots, self.views)


def _held(pool: Pool) -> tuple[Counts, int]:
    """The tenants of a buffer's slots, and how many there are: looked up once, not on every turn."""
    return pool.tenant, pool.buffer.slots
