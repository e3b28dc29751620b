"""Guards of a checked run: slots are seen only by their tenant, written only as declared, poisoned on release.

When the run ends, every semaphore must be where the count of turns says, and every slot free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from graph.errors import InternalError
from graph.lanes.board import FREE
from graph.lanes.queue import Queue
from graph.lanes.thread import Ring
from graph.makers import Missing
from graph.program import Program
from graph.slots import Pool, Record, Sealed
from graph.views import NodeViews, Slots


class GuardError(Exception):
    """A checked run caught a node doing what it had not declared."""


class _Call:
    """One call of a node; `over` once it has returned."""

    def __init__(self, views: NodeViews) -> None:
        self.views, self.turn, self.over = views, views.turn, False

    def check(self, name: str) -> None:
        if self.over:
            raise GuardError(f"`{self.views.node}` looks at `{name}` after its call has ended")

    def check_tenant(self, pool: Pool) -> None:
        slot = self.turn % pool.buffer.slots
        if not pool.buffer.persistent and not pool.holds(self.turn):
            tenant = pool.tenant[slot]
            owner = "nobody" if tenant == FREE else f"turn {tenant}"
            raise GuardError(f"`{pool.name}` slot {slot} belongs to {owner}, not to turn {self.turn}")


class GuardedSlots(Slots):
    """Slots that say so when they are looked at after the call, or while another step is their tenant."""

    def __init__(self, slots: Slots, call: _Call, back: int = 0) -> None:
        super().__init__({"_slots": slots, "_call": call, "_steps_back": back})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._call.check(name)
        found = getattr(self._slots, name)
        if found is not None and not self._steps_back:
            self._call.check_tenant(self._call.views.pools[name])
        return GuardedRecord(found, name, self._call) if isinstance(found, Record) else found

    def at(self, back: int) -> Slots:
        self._call.check(f"at({back})")
        return GuardedSlots(self._slots.at(back), self._call, back)


class GuardedRecord(Sealed):
    """One slot's fields, for the time of the call."""

    def __init__(self, record: Record, name: str, call: _Call) -> None:
        self.__dict__.update(_record=record, _name=name, _call=call)

    def __getattr__(self, field: str) -> Any:
        if field.startswith("_"):
            raise AttributeError(field)
        self._call.check(f"{self._name}.{field}")
        return getattr(self._record, field)

    def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
        self._call.check(self._name)
        return iter(self._record)


def guarded_call(call: Callable[[Any, Any], Any], step: Any, slots: Slots, views: NodeViews) -> Any:
    """Run the node under guards; raises `GuardError` where it wrote a tensor that it only reads."""
    before = {name: tensor._version for name, tensor in views.read_only().items()}
    guarded = _Call(views)
    try:
        result = call(step, GuardedSlots(slots, guarded))
    finally:
        guarded.over = True
    written = [name for name, tensor in views.read_only().items() if before.get(name, -1) != tensor._version]
    if written:
        raise GuardError(f"`{views.node}` wrote what it declares only as read: {', '.join(written)}")
    return result


def guarded_launch(
    call: Callable[[Any, Any], Any], step: Any, slots: Slots, views: NodeViews, queue: Queue
) -> Any:
    """The same for a node that launches on `queue`: what is written meanwhile is looked at from there."""
    read, before = views.read_only(), dict[str, int]()

    def look() -> None:
        before.update({name: tensor._version for name, tensor in read.items()})

    def look_again() -> None:
        written = [name for name, tensor in read.items() if before[name] != tensor._version]
        if written:
            raise GuardError(f"`{views.node}` wrote what it declares only as read: {', '.join(written)}")

    queue.enqueue(look)
    guarded = _Call(views)
    try:
        result = call(step, GuardedSlots(slots, guarded))
    finally:
        guarded.over = True
    queue.enqueue(look_again)
    return result


def poison(pool: Pool, slot: int) -> None:
    """Fill a released slot with what no computation survives unnoticed: NaN, or the type's least number."""
    if not pool.is_record or type(pool.slots[slot]) is Missing:
        return
    for tensor in pool.slots[slot].values():
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.fill_(float("nan"))
        elif tensor.dtype is torch.bool:
            tensor.fill_(True)
        else:
            tensor.fill_(torch.iinfo(tensor.dtype).min)
        if tensor.is_cuda:
            torch.cuda.current_stream(tensor.device).synchronize()  # the next tenant may be on another queue


def check_rest(
    program: Program, channels: Sequence[Ring], done: Mapping[str, int], held: Sequence[tuple[str, int]]
) -> None:
    """Raise `InternalError` unless every token that a turn took has been put back, and every slot is free."""
    wrong = [f"`{buffer}` slot {slot} is still held" for buffer, slot in held]
    for channel, (locks, _) in zip(program.channels, channels, strict=True):
        expected = channel.tokens + done[channel.producer] - done[channel.consumer]
        found = sum(map(_tokens, locks))
        if found != expected:
            wrong.append(f"`{channel.producer}` -> `{channel.consumer}` has {found} tokens, not {expected}")
    if wrong:
        raise InternalError(f"the run did not come to rest: {'; '.join(wrong)}")


def _tokens(semaphore: Any) -> int:
    """How often it could be taken now."""
    if hasattr(semaphore, "get_value"):
        return int(semaphore.get_value())
    return int(not semaphore.locked())
