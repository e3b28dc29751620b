"""Slots of a run with lanes in several processes: where each buffer lives, and the parts of it in this process.

A record that a process lane touches lives in the shared block. What cannot (a resource, `place: device`) lives in
the one process whose lane reads and writes it; other lanes may take it and give it back, since that only changes
its tenant.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from graph.errors import BindError
from graph.lanes.board import FREE, NOWHERE, REPLACED, SPARES, Area, Board, Room
from graph.makers import Elsewhere, Maker, Missing, RecordMaker, ResourceCounts
from graph.slots import Fields, Pool, record_maker, resource_maker, shape_of
from graph.topology import Buffer, TensorType, Topology
from graph.views import NodeViews, Slots

if TYPE_CHECKING:
    import torch

ALIGNED = 64
SHARED = ""
"""The home of a buffer in the shared block; no lane has that name."""


def homes(topology: Topology) -> dict[str, str | None]:
    """For each buffer `SHARED`, the process lane that it lives with, or None for the process of the run.

    Raises `BindError` for a buffer that several lanes would have to share and cannot.
    """
    processes = {name for name, lane in topology.lanes.items() if lane.worker == "process"}
    return {name: _home(name, topology, processes) for name in topology.buffers}


def _home(name: str, topology: Topology, processes: set[str]) -> str | None:
    buffer = topology.buffers[name]
    touching, using = _lanes(name, topology)
    if not touching & processes:
        return None
    is_record = not isinstance(topology.types[buffer.type], str)
    if is_record and buffer.place != "device":
        return SHARED
    if len(using) > 1 and using & processes:
        lane = min(using & processes)
        what = "has `place: device`" if is_record else f"is a resource (`{buffer.type}`)"
        place = topology.place("buffers", name)
        raise BindError(
            f"{place.file}:{place.line}: `{name}` {what} and is used on lanes {', '.join(sorted(using))}, which "
            f"are not in one process: put the nodes that use it on one lane, or make `{lane}` a thread with "
            f"lanes.{lane}.worker=thread" + (f", or set buffers.{name}.place=shared" if is_record else "")
        )
    owner = next(iter(using), None)
    return owner if owner in processes else None


def _lanes(name: str, topology: Topology) -> tuple[set[str], set[str]]:
    """The lanes with a node that touches the buffer at all, and those with one that reads or writes it."""
    touching, using = set(), set()
    for lane, declared in topology.lanes.items():
        for entry in declared.nodes:
            node = topology.nodes[entry.node]
            if any(use.buffer == name for use in (*node.reads, *node.writes)):
                using.add(lane)
            if name in node.acquires or name in node.releases:
                touching.add(lane)
    return touching | using, using


@dataclass(frozen=True)
class Field:
    """Where a field is within its slot."""

    dtype: str
    shape: tuple[int, ...]
    offset: int


def rooms(topology: Topology, dims: Mapping[str, int]) -> list[Room]:
    """What the board must hold of each buffer."""
    where = homes(topology)
    return [
        Room(name, buffer.slots, _layout(name, topology, dims)[1] if where[name] == SHARED else 0)
        for name, buffer in topology.buffers.items()
    ]


def _layout(name: str, topology: Topology, dims: Mapping[str, int]) -> tuple[dict[str, Field], int]:
    """The fields of a slot, and its size in bytes."""
    import torch

    declared = topology.types[topology.buffers[name].type]
    assert not isinstance(declared, str), "only records are laid out"
    fields, size = {}, 0
    for field, kind in declared.items():
        shape = tuple(shape_of(name, field, kind, dims))
        fields[field] = Field(kind.dtype, shape, size)
        size += -(-math.prod(shape) * _itemsize(torch, kind) // ALIGNED) * ALIGNED
    return fields, size


def _itemsize(torch: Any, kind: TensorType) -> int:
    size: int = getattr(torch, kind.dtype).itemsize
    return size


class Flags:
    """A set of slots, one byte each."""

    def __init__(self, flags: memoryview) -> None:
        self._flags = flags

    def add(self, slot: int) -> None:
        self._flags[slot] = 1

    def discard(self, slot: int) -> None:
        self._flags[slot] = 0

    def __contains__(self, slot: object) -> bool:
        return isinstance(slot, int) and bool(self._flags[slot])


class SharedPool(Pool):
    """A pool whose tenants are on the board."""

    def __init__(self, name: str, buffer: Buffer, board: Board, maker: Maker, is_record: bool) -> None:
        self._board, self._area = board, board.areas[name]
        self._places = list(self._area.place)
        self._renewing = threading.Lock()
        super().__init__(name, buffer, maker, is_record)
        self.tenant = self._area.tenant
        self.suspect = Flags(self._area.suspect)

    def give_back(self, slot: int) -> bool:
        found = slot in self.suspect
        if found:
            self.suspect.discard(slot)
            self._board.lock.run(lambda: self._replace(slot))
            self.renew()
        self.tenant[slot] = FREE
        return found

    def _replace(self, slot: int) -> None:
        self._area.place[slot] = self._area.next_place()
        self._board.control[REPLACED] += 1

    def renew(self) -> None:
        """Follow slots that were replaced, in whichever process that was found out."""
        with self._renewing:
            for slot, place in enumerate(self._area.place):
                if place != self._places[slot]:
                    self._places[slot] = place
                    if place == NOWHERE:
                        self.lose(slot, f"{SPARES} were replaced, and there is no spare one left")
                    else:
                        self._renew(slot, place)

    def content(self, slot: int) -> Any:
        """Tries again to make what could not be made: who gives the slot back may be in another process."""
        if type(self.slots[slot]) is Missing and self._places[slot] != NOWHERE:
            with self._renewing:
                if type(self.slots[slot]) is Missing:
                    self._renew(slot, self._places[slot])
        return super().content(slot)


class SharedViews(NodeViews):
    """Views that notice when a slot was replaced."""

    def __init__(self, board: Board, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._board, self._replaced = board, 0

    def at_turn(self, turn: int) -> Slots:
        if self._board.control[REPLACED] != self._replaced:
            self._renew()
        self.turn = turn  # as of `NodeViews`, without a call more on every step's way
        view = self.made.get(turn % self.period)
        return self._make(turn) if view is None else view

    def after_failure(self, turn: int, written: Any) -> Slots:
        if self._board.control[REPLACED] != self._replaced:
            self._renew()
        return super().after_failure(turn, written)

    def _renew(self) -> None:
        self._replaced = self._board.control[REPLACED]
        for pool in self.pools.values():
            assert isinstance(pool, SharedPool), "all pools of a run are of one kind"
            pool.renew()
        self.forget()


def allocate_shared(
    topology: Topology,
    dims: Mapping[str, int],
    resources: Mapping[str, Callable[[], Any]],
    device: str,
    board: Board,
    here: str | None,
    on_fault: Callable[[Exception], None],
    on_count: Callable[[str, ResourceCounts], None] | None = None,
) -> dict[str, SharedPool]:
    """All pools as seen in the process of lane `here`, or of the run itself where that is None.

    `on_fault` is called where a resource of this process does not close, `on_count` when one is made or destroyed.
    """
    where = homes(topology)
    mine = set(topology.buffers) if here is None else set(_touched(topology, here))
    pools = {}
    for name, buffer in topology.buffers.items():
        is_record = not isinstance(topology.types[buffer.type], str)
        maker: Maker = Elsewhere()
        if where[name] == SHARED and name in mine:
            maker = RecordMaker(_mapper(name, topology, dims, board, device))
        elif where[name] == here and is_record:
            maker = record_maker(name, topology, dims, device)
        elif where[name] == here:
            counted = None if on_count is None else partial(on_count, name)
            maker = resource_maker(name, topology, resources, on_fault, counted)
        pools[name] = SharedPool(name, buffer, board, maker, is_record and not isinstance(maker, Elsewhere))
    return pools


def _touched(topology: Topology, lane: str) -> Iterator[str]:
    return (name for name in topology.buffers if lane in _lanes(name, topology)[0])


def _mapper(
    name: str, topology: Topology, dims: Mapping[str, int], board: Board, device: str
) -> Callable[[int], Fields]:
    fields, _ = _layout(name, topology, dims)
    area = board.areas[name]
    return lambda place: {field: _mapped(board, area, place, it) for field, it in fields.items()}


def _mapped(board: Board, area: Area, place: int, field: Field) -> torch.Tensor:
    """A tensor over the shared block; it keeps the block alive."""
    import torch

    dtype = getattr(torch, field.dtype)
    count = math.prod(field.shape)
    if count == 0:
        return torch.empty(field.shape, dtype=dtype)
    with torch.inference_mode(False):  # an inference tensor could not be written on the lanes
        flat = torch.frombuffer(
            board.block.memory, dtype=dtype, count=count, offset=area.offset(place) + field.offset
        )
        return flat.view(field.shape)
