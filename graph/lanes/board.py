"""What the lanes of several processes share: one block of memory without a name, mapped by each of them.

It has the words that steer a run, how far each node is, facts about each step on its way, the tenants of slots, and
the slots themselves. Nothing needs to be cleaned up: the memory goes with the last process that has it. Whoever
reads what another lane wrote has waited for that lane at a semaphore, which orders the two; the few cases where
nobody waits go through `BriefLock`.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from typing import Any

HALTED, STARVED, REPLACED = range(3)
"""The control words; REPLACED counts slots that were quarantined and replaced."""
FREE = -1 << 62
"""The tenant of a slot that nobody holds: no turn."""
PENDING, STARTED, CANCELLED = range(3)
"""States of a step that no node has run yet, that a lane has begun, that was cancelled before."""
SPARES = 64
"""Per buffer in the block, the slots that can be replaced; memory that is never touched is never taken."""
NOWHERE = -1
"""The place of a slot for which no spare one was left."""
PAGE = 4096
PATIENCE_S = 0.2
"""Far longer than any holder of a `BriefLock` needs, unless it was killed."""


class BriefLock:
    """Mutual exclusion between processes for a few instructions.

    A holder that was killed is not waited for: its run is at an end anyway.
    """

    def __init__(self) -> None:
        self._lock: Any = multiprocessing.get_context("spawn").Lock()

    def run(self, act: Callable[[], Any]) -> Any:
        lock = self._lock
        if lock is None:
            return act()
        taken = lock.acquire(True, PATIENCE_S)
        try:
            return act()
        finally:
            if taken:
                lock.release()

    def close(self) -> None:
        """Let go of the semaphore, and of its name in the system; the lock is one of this process alone now."""
        self._lock = None


class Block:
    """Memory without a name that can be handed to a process as it is spawned."""

    def __init__(self, size: int, fd: int | None = None) -> None:
        self.size = size
        self._fd = _unnamed_file(size) if fd is None else fd
        self.memory = mmap.mmap(self._fd, size)

    def __reduce__(self) -> tuple[Any, ...]:
        return _attach, (self.size, DupFd(self._fd))

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            os.close(self._fd)


def _attach(size: int, duplicate: Any) -> Block:
    return Block(size, duplicate.detach())


def _unnamed_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("laneflow")
    else:
        fd, path = tempfile.mkstemp()
        os.unlink(path)
    try:
        os.ftruncate(fd, size)
    except BaseException:
        os.close(fd)
        raise
    return fd


@dataclass(frozen=True)
class Room:
    """One buffer's need: its slots, and the bytes of one where they are in the block."""

    name: str
    slots: int
    slot_bytes: int = 0


class Area:
    """One buffer's part of the board."""

    def __init__(self, room: Room, words: memoryview, suspect: memoryview, start: int) -> None:
        slots = room.slots
        self.tenant = words[:slots]
        """The turn whose step holds each slot."""
        self.place = words[slots : 2 * slots]
        """Which of the buffer's places each slot is in: its own, or a spare one after a quarantine."""
        self._taken = words[2 * slots :]
        self.suspect = suspect
        """Whether a node could not prove that it is through with the slot."""
        self._room, self._start = room, start

    def clear(self) -> None:
        """No slot has a tenant, each is in its own place."""
        for slot in range(self._room.slots):
            self.tenant[slot], self.place[slot] = FREE, slot

    def offset(self, place: int) -> int:
        """Where a place begins in the block."""
        return self._start + place * self._room.slot_bytes

    def next_place(self) -> int:
        """A place that was never used, or `NOWHERE` after the last; call it under the board's lock."""
        if self._taken[0] >= SPARES and self._room.slot_bytes:
            return NOWHERE
        self._taken[0] += 1
        return self._room.slots + self._taken[0] - 1


class Board:
    """The block of one run with its parts by name. `window` is how many turns facts are kept for."""

    def __init__(self, nodes: int, window: int, rooms: Iterable[Room], block: Block | None = None) -> None:
        self.nodes, self.window, self.rooms = nodes, window, tuple(rooms)
        self._stride = 2 + nodes
        words = 3 + nodes + sum(2 * room.slots + 1 for room in self.rooms)
        flags = window * self._stride + sum(room.slots for room in self.rooms)
        starts, size = [], _round_up(8 * words + flags)
        for room in self.rooms:
            starts.append(size)
            size += _round_up((room.slots + SPARES) * room.slot_bytes)
        self.block = block if block is not None else Block(size)
        whole = memoryview(self.block.memory)
        numbers, bits = whole[: 8 * words].cast("q"), whole[8 * words : 8 * words + flags]
        self.control, self.done = numbers[:3], numbers[3 : 3 + nodes]
        self.halt = self.control[HALTED : HALTED + 1]
        self.lock = BriefLock()
        self._facts = bits[: window * self._stride]
        self.areas: dict[str, Area] = {}
        word, bit = 3 + nodes, window * self._stride
        for room, start in zip(self.rooms, starts, strict=True):
            its_words = numbers[word : word + 2 * room.slots + 1]
            self.areas[room.name] = Area(room, its_words, bits[bit : bit + room.slots], start)
            word, bit = word + len(its_words), bit + room.slots
        if block is None:
            for area in self.areas.values():
                area.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        return _attach_board, (self.nodes, self.window, self.rooms, self.block, self.lock)

    def facts(self, turn: int) -> memoryview:
        """Of the step of `turn`: its state, whether it failed, and which nodes have run without error."""
        start = turn % self.window * self._stride
        return self._facts[start : start + self._stride]


def _attach_board(nodes: int, window: int, rooms: tuple[Room, ...], block: Block, lock: BriefLock) -> Board:
    board = Board(nodes, window, rooms, block)
    board.lock = lock
    return board


def _round_up(size: int) -> int:
    return -(-size // PAGE) * PAGE
