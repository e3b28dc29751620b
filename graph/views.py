"""What a node sees of the slots: the fields it declared, for the step it works on, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from graph.slots import Pool, Record, Sealed
from graph.topology import Topology, Use

if TYPE_CHECKING:
    import torch

VIEWS_KEPT = 4096
"""Per node. Slot counts whose least common multiple is larger repeat too seldom to keep each view."""


class Slots(Sealed):
    """The slots of one step by buffer name; `at(n)` has those of the step n back, None where absent."""

    _back: Callable[[int], Slots] | None

    def __init__(self, buffers: Mapping[str, Any], back: Callable[[int], Slots] | None = None) -> None:
        self.__dict__.update(buffers, _back=back)

    def at(self, back: int) -> Slots:
        """The declared `@back` slots; None for a buffer that the earlier step does not hold, or if it failed."""
        if self._back is None:
            raise AttributeError("this node declares no use with `@n`")
        return self._back(back)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"`{name}` is not among the buffers that this node declares: {sorted(self._named())}"
        )

    def _named(self) -> Iterable[str]:
        return (name for name in self.__dict__ if not name.startswith("_"))


class NodeViews:
    """The views of one node, made once per slot and reused turn after turn."""

    def __init__(
        self, node: str, topology: Topology, pools: Mapping[str, Pool], failed: Callable[[int], bool]
    ) -> None:
        declared = topology.nodes[node]
        self.node = node
        self.pools = pools
        self.failed = failed
        self.turn = 0
        self.own = _fields_by_buffer(
            topology, (use for use in (*declared.reads, *declared.writes) if not use.back)
        )
        self.backs = {
            back: _fields_by_buffer(
                topology, (u for u in (*declared.reads, *declared.writes) if u.back == back)
            )
            for back in sorted({use.back for use in (*declared.reads, *declared.writes) if use.back})
        }
        self.writes = {
            Use(use.buffer, field, use.back)
            for use in declared.writes
            for field in ((use.field,) if use.field else topology.fields(use.buffer))
        }
        self.period = math.lcm(*(pools[name].buffer.slots for name in self.own), 1)
        self.made: dict[int, Slots] = {}

    def at_turn(self, turn: int) -> Slots:
        """The view for the step of `turn`; the caller is the node's lane."""
        self.turn = turn
        view = self.made.get(turn % self.period)
        return self._make(turn) if view is None else view

    def _make(self, turn: int) -> Slots:
        view = Slots(
            {name: self._slot(name, fields, turn) for name, fields in self.own.items()}, self._resolver()
        )
        if self.period <= VIEWS_KEPT:
            self.made[turn % self.period] = view
        return view

    def after_failure(self, turn: int, written: set[Use]) -> Slots:
        """For a failed step: buffers that it does not hold and fields that nothing wrote are None."""
        self.turn = turn
        buffers: dict[str, Any] = {}
        for name, fields in self.own.items():
            pool = self.pools[name]
            if pool.buffer.persistent:
                buffers[name] = self._slot(name, fields, turn)
            elif not pool.holds(turn):
                buffers[name] = None
            elif not pool.is_record:
                buffers[name] = self._slot(name, fields, turn) if Use(name) in written else None
            else:
                slot = pool.content(turn % pool.buffer.slots)
                seen = {
                    f: slot[f] if Use(name, f) in written or Use(name) in written else None for f in fields
                }
                buffers[name] = Record(seen)
        return Slots(buffers, self._resolver())

    def forget(self) -> None:
        """Make the views anew: a slot was replaced."""
        self.made.clear()

    def read_only(self) -> dict[str, torch.Tensor]:
        """By name, the tensors that the node may look at now and does not declare as written."""
        found = {}
        for back, buffers in {0: self.own, **self.backs}.items():
            for name, fields in buffers.items():
                pool, turn = self.pools[name], self.turn - back
                if pool.is_record and (pool.buffer.persistent or pool.holds(turn)):
                    slot = pool.content(turn % pool.buffer.slots)
                    unwritten = (field for field in fields if Use(name, field, back) not in self.writes)
                    found.update({str(Use(name, field, back)): slot[field] for field in unwritten})
        return found

    def _resolver(self) -> Callable[[int], Slots] | None:
        return self._earlier if self.backs else None

    def _earlier(self, back: int) -> Slots:
        if back not in self.backs:
            raise AttributeError(f"`{self.node}` declares no use with `@{back}`")
        turn = self.turn - back
        present = turn >= 0 and not self.failed(turn)
        return Slots(
            {
                name: self._slot(name, fields, turn) if present and self.pools[name].holds(turn) else None
                for name, fields in self.backs[back].items()
            }
        )

    def _slot(self, name: str, fields: tuple[str, ...], turn: int) -> Any:
        pool = self.pools[name]
        slot = pool.content(turn % pool.buffer.slots)
        return Record({field: slot[field] for field in fields}) if pool.is_record else slot


def _fields_by_buffer(topology: Topology, uses: Iterable[Use]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for use in uses:
        wanted = found.setdefault(use.buffer, [])
        wanted.extend(
            f for f in ((use.field,) if use.field else topology.fields(use.buffer)) if f not in wanted
        )
    return {name: tuple(fields) for name, fields in found.items()}
