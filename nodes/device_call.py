"""A node's call to the device that is the same on every lane.

On a `stream` lane it is put on the lane's queue, which has a clock of its own; on any other lane the device is
through with it when it returns. Where a topology has a copy of a buffer on the device, the call uses the copy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch

from graph.node import Context, Ports, Step

COPIED = "device_"
"""Before a buffer's name it names the buffer's copy on the device."""


def staged(ports: Ports, *names: str) -> Ports:
    """The ports of a node that uses `device_NAME` in place of NAME, for each of `names`, where the file says so."""

    def with_copies(uses: Iterable[str]) -> Iterator[str]:
        for use in uses:
            yield use
            if use.partition(".")[0] in names:
                yield COPIED + use

    return Ports(
        reads=tuple(with_copies(ports.reads)),
        writes=tuple(with_copies(ports.writes)),
        types={**ports.types, **{COPIED + name: ports.types[name] for name in names}},
        takes=ports.takes,
        gives=ports.gives,
        emits=ports.emits,
        optional=ports.optional | {*names, *(COPIED + name for name in names)},
    )


class DeviceCall:
    """Made in a node's `start`, with the buffers that `staged` names in its ports.

    Raises `ValueError` where the file gives the node neither a buffer nor its copy.
    """

    def __init__(self, context: Context, *names: str) -> None:
        self._queue, self._device = context.stream, torch.device(context.device)
        self._chosen = {name: _chosen(name, context) for name in names}
        self.copied = all(chosen != name for name, chosen in self._chosen.items())
        """Whether it uses nothing but copies on the device."""

    def tensors(self, slots: Any, name: str) -> SimpleNamespace:
        """The fields of this step's slot of the buffer or of its copy, for work that is done after `run`."""
        return tensors(getattr(slots, self._chosen[name]))

    def __call__(self, step: Step, work: Callable[[], object]) -> None:
        """Do `work`, which must look at neither `step` nor `slots`; without gradients. Raises what it raises, on
        a queue from the queue's next mark."""
        if self._queue is not None:
            self._queue.enqueue(partial(_without_gradients, work))
            return
        began = time.thread_time_ns()
        _without_gradients(work)
        if self._device.type == "cuda":
            torch.cuda.current_stream(self._device).synchronize()
        else:
            step.device_time(time.thread_time_ns() - began)


def tensors(record: Any) -> SimpleNamespace:
    """A slot's fields by name. Unlike the slot itself, in a checked run too, they may be used after the call."""
    return SimpleNamespace(**dict(record))


def _chosen(name: str, context: Context) -> str:
    found = next((known for known in (COPIED + name, name) if known in context.slots), None)
    if found is None:
        raise ValueError(
            f"`{context.node}` uses neither `{name}` nor `{COPIED}{name}`: add one of them to its reads or writes"
        )
    return found


def _without_gradients(work: Callable[[], object]) -> None:
    with torch.inference_mode():  # for this thread, and so not around the launch
        work()
