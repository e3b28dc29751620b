"""All process lanes of one run: the board, what each child is told at its start, and who is sent what."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from graph.errors import BindError, StepError
from graph.lanes.board import STARVED, Board
from graph.lanes.carried import pack_error, unpack
from graph.lanes.child import Plan
from graph.lanes.mailbox import ERROR, Mailbox
from graph.lanes.process import ProcessLane
from graph.lanes.shared_step import Common, OwnStep, Share, sharing
from graph.lanes.thread import Ring, Shared
from graph.node import Executor
from graph.program import Program
from graph.shared_slots import SharedPool, allocate_shared, rooms
from graph.stepping import StepRecord
from graph.topology import Topology


class BoardShared(Shared):
    """`Shared`, of which the children see `halt`, `starved` and `done` on the board."""

    def __init__(self, board: Board) -> None:
        self.board = board
        super().__init__({}, board.done, halt=board.halt)

    @property
    def starved(self) -> bool:
        return bool(self.board.control[STARVED])

    @starved.setter
    def starved(self, starved: bool) -> None:
        """Under the lock, as a child looks at it: either it sees this, or what it did before is seen after this."""
        self.board.lock.run(partial(self.board.control.__setitem__, STARVED, int(starved)))


@dataclass(frozen=True)
class Options:
    """Of the run, for its children."""

    device: str
    checked: bool
    record: bool
    threads: int | None
    switch_interval_ms: float | None


class Processes:
    """Raises `BindError` where the memory for the slots cannot be had."""

    def __init__(
        self,
        program: Program,
        executor: Executor,
        positions: Mapping[str, int],
        capacity: int,
        options: Options,
    ) -> None:
        topology = program.topology
        self._program, self._executor, self._options = program, executor, options
        self._dims = {**topology.dims, **executor.dims}
        self._lane_of = {op.node: lane.name for lane in program.lanes for op in lane.ops}
        self._away = {lane.name for lane in program.lanes if lane.worker == "process"}
        self.board = _board(topology, self._dims, len(positions), _window(program, capacity))
        self.shared = BoardShared(self.board)
        self.mailbox = Mailbox(lambda: self.shared.halted)
        self.rings = self._make_rings()
        self._quiet = {lane: self._quiet_routes(lane) for lane in self._away}
        """By process lane, the routes on which it need not tell that it is through with a step."""
        self._takers = self._find_takers()
        self._common = Common(
            self.board, [*positions], self._incoming(None), self.mailbox, self._tell, topology
        )
        self._untold = self._quiet_nodes()
        self._sees_command = {
            lane for node, lane in self._lane_of.items() if topology.nodes[node].kind in ("prepare", "bind")
        }
        self.lanes = {
            lane: ProcessLane(
                lane,
                partial(self._plan, lane, positions),
                self.shared,
                program.max_lag,
                partial(self._command, lane),
            )
            for lane in self._away
        }

    # -- what the run is made of -----------------------------------------------------------------------------

    def pools(self, on_fault: Callable[[Exception], None]) -> Mapping[str, SharedPool]:
        """Every buffer, as far as it is in this process."""
        topology, executor = self._program.topology, self._executor
        return allocate_shared(
            topology, self._dims, executor.resources, self._options.device, self.board, None, on_fault
        )

    def _make_rings(self) -> dict[int, Ring]:
        """One counting semaphore for each channel that a process lane is at."""
        context = multiprocessing.get_context("spawn")
        return {
            index: ([context.Semaphore(channel.tokens)], 1)
            for index, channel in enumerate(self._program.channels)
            if {self._lane_of[channel.producer], self._lane_of[channel.consumer]} & self._away
        }

    def _quiet_routes(self, lane: str) -> frozenset[str]:
        """Those on which a lane of this process is always through later, and the lane has no result to send."""
        topology, before = self._program.topology, self._program.graph.before
        found = []
        for route, nodes in topology.steps_routes().items():
            own = [node for node in nodes if self._lane_of[node] == lane]
            here = [node for node in nodes if self._lane_of[node] not in self._away]
            emits = any(topology.nodes[node].emits is not None for node in own)
            if not emits and all(any(before(node, other) for other in here) for node in own):
                found.append(route)
        return frozenset(found)

    def _quiet_nodes(self) -> dict[str, int]:
        """By route, how many nodes of a step nobody tells of."""
        routes = self._program.topology.steps_routes()
        return {
            route: sum(route in self._quiet.get(self._lane_of[node], ()) for node in nodes)
            for route, nodes in routes.items()
        }

    def _plan(self, name: str, positions: Mapping[str, int]) -> Plan:
        program, options = self._program, self._options
        lane = next(lane for lane in program.lanes if lane.name == name)
        touching = {index for op in lane.ops for index in (*op.waits, *op.signals)}
        assert self._executor.factory is not None, "`bind` has seen to it"
        return Plan(
            lane,
            program.topology,
            self._executor.factory,
            self._executor.dims,
            options.device,
            positions,
            self.board,
            {index: (self.rings[index][0][0], program.channels[index].tokens) for index in touching},
            self._incoming(name),
            frozenset(
                key
                for key, takers in self._takers.items()
                if self._lane_of[key[0]] == name and takers - {name}
            ),
            self._quiet[name],
            program.max_lag > 0,
            options.checked,
            options.record,
            options.threads,
            options.switch_interval_ms,
        )

    def new_record(self, *arguments: Any) -> StepRecord:
        """The record of a step that is about to arrive; raises `TypeError` where its command cannot be sent."""
        self.mailbox.forget(arguments[0] - self.board.window)
        route = arguments[2]
        return OwnStep(self._common, bool(self._sees_command & self._away), self._untold[route], *arguments)

    def _command(self, lane: str, record: StepRecord) -> bytes | None:
        assert isinstance(record, OwnStep)
        return record.packed_command if lane in self._sees_command else None

    # -- values and failures ---------------------------------------------------------------------------------

    def _find_takers(self) -> dict[tuple[str, str], set[str | None]]:
        """For each value, by producer and type, the process lanes that take it; None for the lanes here."""
        found: dict[tuple[str, str], set[str | None]] = {}
        for key, edge in self._program.topology.edges.items():
            if edge.value:
                found.setdefault((key.producer, edge.value), set()).add(self._process_of(key.consumer))
        return found

    def _process_of(self, node: str) -> str | None:
        lane = self._lane_of[node]
        return lane if lane in self._away else None

    def _incoming(self, process: str | None) -> frozenset[tuple[str, str]]:
        return frozenset(
            key
            for key, takers in self._takers.items()
            if process in takers and self._process_of(key[0]) != process
        )

    def shares(self) -> dict[str, Share]:
        """For each node of this process, what tells the children that it has run, and sends its values."""
        return {
            node: sharing(node, self._kinds_sent(node), self.value)
            for node in self._lane_of
            if self._process_of(node) is None
        }

    def _kinds_sent(self, node: str) -> list[str]:
        return [
            kind for (producer, kind), takers in self._takers.items() if producer == node and takers - {None}
        ]

    def value(self, turn: int, producer: str, kind: str, payload: bytes) -> None:
        """Send a value on to whoever takes it."""
        for taker in self._takers[producer, kind] - {self._process_of(producer)}:
            if taker is None:
                self.mailbox.put(turn, (producer, kind), payload)
            else:
                self.lanes[taker].value(turn, producer, kind, payload)

    def failed(self, lane: str, turn: int, payload: bytes) -> None:
        """A lane's failure, for this process and the other lanes."""
        self.mailbox.put(turn, ERROR, payload)
        for name, other in self.lanes.items():
            if name != lane:
                other.failed(turn, payload)

    def _tell(self, turn: int, error: Exception) -> None:
        payload = pack_error(error, "of the run")
        for lane in self.lanes.values():
            lane.failed(turn, payload)

    def tell_again(self, steps: Iterable[StepRecord]) -> None:
        """Say once more why these steps have failed: a KeyboardInterrupt may have kept it from being said."""
        for step in steps:
            assert isinstance(step, OwnStep)
            step.tell()

    def take_result(self, lane: str, record: StepRecord, payload: bytes) -> None:
        """Unpickle what an emitting node of the lane returned; a step whose result cannot be had fails."""
        try:
            record.result = unpack(payload)
        except Exception as error:  # of the object's own code, or its module is not here
            ops = next(one.ops for one in self._program.lanes if one.name == lane)
            emits = next(op.node for op in ops if self._program.topology.nodes[op.node].emits is not None)
            record.fail(StepError(emits, record.index, error))

    # -- the end ---------------------------------------------------------------------------------------------

    def halt(self) -> None:
        """Wake whoever waits for something from another process; the run is marked as halted already."""
        self.mailbox.wake()
        for lane in self.lanes.values():
            lane.halt()

    def kill(self) -> None:
        """End the children that are still there."""
        for lane in self.lanes.values():
            lane.kill()

    def close(self) -> None:
        """The lanes have ended: let go of semaphores, which have names in the system."""
        self.board.lock.close()
        for locks, _ in self.rings.values():
            locks.clear()


def _window(program: Program, capacity: int) -> int:
    """For how many turns facts are needed: unresolved steps, each with its bubbles, and as far as nodes look back."""
    return (capacity + 1) * (1 + program.max_lag) + program.max_back + 1


def _board(topology: Topology, dims: Mapping[str, int], nodes: int, window: int) -> Board:
    need = rooms(topology, dims)
    try:
        return Board(nodes, window, need)
    except (OSError, OverflowError, ValueError) as error:
        size = sum(room.slots * room.slot_bytes for room in need)
        raise BindError(
            f"{size / 2**20:.0f} MiB of shared memory for the slots of `{topology.topology}` cannot be had: {error}"
        ) from error
