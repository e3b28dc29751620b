"""The five kinds of nodes, each with its contract.

A subclass declares `ports` and defines `run`; `start` and `stop` are called on the node's lane, around the
whole run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from graph.node import Context, Ports, Step
from graph.topology import Kind


class KindNode(ABC):
    """What all kinds share. `ports` None accepts whatever the file declares."""

    kind: ClassVar[Kind]
    ports: Ports | None = None

    def start(self, context: Context) -> None:
        """Before the first step; raising here keeps the run from starting."""
        del context

    @abstractmethod
    def run(self, step: Step, slots: Any) -> Any:
        """Work on one step. What is raised becomes the step's error; the run goes on."""

    def stop(self) -> None:  # noqa: B027 - to be overridden where there is something to end
        """After the last step, also where the run was cut short."""


class PrepareNode(KindNode):
    """Builds a step's host snapshot into slots, from `step.command`; never waits for an earlier step's
    results."""

    kind = "prepare"


class BindNode(KindNode):
    """Completes the snapshot into all that the device call needs, with what was known only later."""

    kind = "bind"


class DispatchNode(KindNode):
    """The blocking call to the device: returns when the device is done.

    Raise `Unfinished` where that cannot be proved. Report the device's own time with `step.device_time`.

    On a `stream` lane it returns as soon as its work is on the lane's queue, `context.stream` of `start`, and
    must not wait for the device: so does a node of any kind there. `run` is called inside `stream.launching()`,
    so that torch calls on a CUDA device are on the queue already; `stream.enqueue(work)` puts a callable on it,
    which is called at once on CUDA and when its turn comes on the CPU. `step` and `slots` are for `run` alone:
    give the work tensors. Slots are touched by the queue only; what `run` returns or puts is seen by other lanes
    once the queue has completed the call. Its time is the queue's own where the node reports none.
    `nodes.device_call` makes a call that is right on every lane.
    """

    kind = "dispatch"


class ReclaimNode(KindNode):
    """Reads what a dispatch produced; what an emitting node returns is the step's result."""

    kind = "reclaim"


class ReleaseNode(KindNode):
    """Retires request state; the runtime gives the slots back when it returns. Runs for failed steps too.

    `step.error` has the failure; what a failed step did not write is None.
    """

    kind = "release"

    def run(self, step: Step, slots: Any) -> None:
        """Nothing to retire by default."""
