"""What a chip's driver offers: a device context, streams for runs, and one native executor that launches them.

A run forks from the lane's queue to a stream of its own and joins the queue again. So the lane's mark behind the
launch is the run's completion, runs come to their end in order, and what stream lanes guarantee of time-outs, errors
and a lost device holds for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

    from graph.lanes.queue import Queue

Tensors = Mapping[str, "torch.Tensor"]
"""The fields of one slot by name, with the shapes that the topology declares."""


class ChipStream(Protocol):
    """Where one run at a time is launched. `done` and `replenish` are called on the retirement lane."""

    def done(self) -> bool:
        """Whether all that was launched on it has completed."""

    def replenish(self) -> None:
        """Make it ready for another run, once it is done or nothing was launched. Raising has it replaced."""

    def close(self) -> None:
        """Destroy it, done or not; called once."""


class NativeExecutor(Protocol):
    """Launches programs; one for each device context, used by every run, on the device lane alone."""

    def launch(self, program: Any, arguments: Tensors, results: Tensors, stream: Any, queue: Queue) -> None:
        """Put one run of `program` on `stream`, behind what is on `queue`, and `queue` behind the run.

        Only launches: never waits for the chip. `stream` is one that the same context made. Where it raises after
        a part of the run was launched, `stream` must not be `done` before that part is.
        """

    def close(self) -> None:
        """Destroy it; called once, at the end of the graph's run."""


class DeviceContext(Protocol):
    """One chip, opened by the application before the graph's run and closed by it afterwards."""

    @property
    def device(self) -> str:
        """The `device` that the graph's run is given."""

    def stream(self) -> ChipStream:
        """A new stream. Called at the start, and on the retirement lane to replace a quarantined one."""

    def executor(self) -> NativeExecutor:
        """The context's native executor; raises `RuntimeError` while it has one."""

    def close(self) -> None:
        """Give the chip back; raises `RuntimeError` while a stream or the native executor is open."""
