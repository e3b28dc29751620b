"""Guards of a checked run: slots are looked at only by their tenant, written only as declared, poisoned on release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from graph.slots import Pool
from graph.topology import Topology
from graph.views import NodeViews, Slots


class GuardError(Exception):
    """A checked run caught a node or the runtime doing what was not declared."""


class GuardedSlots(Slots):
    """Slots that say so when they are looked at after the call, or while another step is their tenant."""

    def __init__(self, slots: Slots, views: NodeViews, turn: int) -> None:
        super().__init__({})
        self._slots, self._views, self._turn, self._over = slots, views, turn, False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._over:
            raise GuardError(f"`{self._views.node}` looks at `{name}` after its call has ended")
        pool = self._views.pools.get(name)
        if pool is not None and name in self._views.own and not pool.buffer.persistent:
            tenant = pool.tenant[self._turn % pool.buffer.slots]
            if tenant not in (self._turn, None):
                raise GuardError(f"`{name}` slot {self._turn % pool.buffer.slots} belongs to turn {tenant}, not {self._turn}")
        return getattr(self._slots, name)

    def at(self, back: int) -> Slots:
        return self._slots.at(back)


def guarded_call(
    call: Callable[[Any, Any], Any], step: Any, slots: Slots, views: NodeViews, topology: Topology
) -> Any:
    """Run the node under guards; raises `GuardError` where it wrote a tensor that it only reads."""
    untouched = [] if step.error is not None else views.read_only(topology)
    versions = [tensor._version for tensor in untouched]
    guarded = GuardedSlots(slots, views, views.turn)
    try:
        result = call(step, guarded)
    finally:
        guarded._over = True
    for tensor, version in zip(untouched, versions, strict=True):
        if tensor._version != version:
            raise GuardError(f"`{views.node}` wrote a field that it declares only as read: {_name(views, tensor)}")
    return result


def _name(views: NodeViews, tensor: torch.Tensor) -> str:
    for name, fields in views.own.items():
        pool = views.pools[name]
        slot = pool.slots[views.turn % pool.buffer.slots]
        for field in fields:
            if isinstance(slot, dict) and slot[field] is tensor:
                return f"`{name}.{field}`"
    return "unknown field"


def poison(pool: Pool, slot: int) -> None:
    """Fill a released slot with values that no computation survives unnoticed: NaN, or the type's least number."""
    content = pool.slots[slot]
    if not isinstance(content, dict):
        return
    for tensor in content.values():
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.fill_(float("nan"))
        elif tensor.dtype is torch.bool:
            tensor.fill_(True)
        else:
            tensor.fill_(torch.iinfo(tensor.dtype).min)
