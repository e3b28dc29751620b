"""Copies of records between the host's memory and the device's, as nodes of their own.

A copy is through when the device is: on a `stream` lane once its queue has completed it, on any other lane when
`run` returns. Only then does the source go back.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor

from graph.node import Context, Ports, Step
from nodes.device_call import DeviceCall, tensors
from nodes.kinds import DispatchNode


class CopyNode(DispatchNode):
    """Copies every field of `source` to `target`, two buffers of the record type `record`."""

    def __init__(self, source: str, target: str, record: str) -> None:
        self.source, self.target = source, target
        self.ports = Ports(reads=(source,), writes=(target,), types={source: record, target: record})

    def start(self, context: Context) -> None:
        self._call = DeviceCall(context)

    def run(self, step: Step, slots: Any) -> None:
        source, target = (
            vars(tensors(getattr(slots, self.source))),
            vars(tensors(getattr(slots, self.target))),
        )
        self._call(step, partial(_copy, [(target[name], value) for name, value in source.items()]))


def _copy(pairs: list[tuple[Tensor, Tensor]]) -> None:
    for target, source in pairs:
        target.copy_(source, non_blocking=True)
