"""One exception class per situation, by phase. `TopologyError`, for what a declaration says, is in `diagnostics`."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

from graph.diagnostics import Diagnostic


class BindError(Exception):
    """The executor or the application does not fit the topology (LF501-LF503, or a part that is not there).

    A topology that is unsound by itself raises `TopologyError` instead, before any executor is looked at.
    """

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join([message, *(str(diagnostic) for diagnostic in self.diagnostics)]))


class LifecycleError(Exception):
    """A node's `start` or `stop` raised, or the `close` of a resource or of a lane's queue; the cause is chained.

    `node` is the name of the node, of the resource's buffer, or of the lane. A failing `run` is a `StepError`.
    """

    def __init__(self, node: str, phase: str, cause: BaseException) -> None:
        self.node, self.phase, self.cause = node, phase, cause
        self.__cause__ = cause
        super().__init__(f"`{node}` failed to {phase}: {cause!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node, self.phase, self.cause)


class StepError(Exception):
    """One step failed; the run goes on. `node` and `step` say where, `cause` is what the node raised."""

    def __init__(self, node: str, step: int, cause: BaseException) -> None:
        self.node, self.step, self.cause = node, step, cause
        self.__cause__ = cause
        super().__init__(f"step {step} failed in `{node}`: {cause!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node, self.step, self.cause)


class Unfinished(Exception):
    """Raised by a node that cannot prove that its device call has finished.

    The step fails, and the slots that the node uses are quarantined: never given to another step.
    """


class DeviceLost(Unfinished):
    """The accelerator's context is gone: nothing that was launched on it can be proved to have finished.

    Each step that is on its way to the device or on it fails with this, in its place, and the run ends; so does
    its `with` block.
    """


class ResourceLost(Exception):
    """A slot was quarantined, and nothing could be made in its place; so a step that needs the slot fails.

    It is tried again each time the slot is given back. `cause` says what failed.
    """

    def __init__(self, buffer: str, slot: int, cause: str) -> None:
        self.buffer, self.slot, self.cause = buffer, slot, cause
        super().__init__(f"slot {slot} of `{buffer}` could not be made anew: {cause}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.buffer, self.slot, self.cause)


class Overtaken(Exception):
    """A call on a stream lane had been launched when the step failed that it reads from by `@n`.

    On any other lane the node would have found it absent; so what this call made is not trusted either.
    """


class RuntimeStopped(Exception):
    """The run was stopped before this step could start, or is stopped already. Nothing is wrong with the step."""


class QueueFull(Exception):
    """`submit(block=False)` found the entry queue full; try again when a ticket has resolved."""


class Stuck(Exception):
    """Lanes did not end within the drain time; `waits` says which node of which step waits for what."""

    def __init__(self, waits: str) -> None:
        self.waits = waits
        super().__init__(f"the run does not come to its end:\n{waits}")


class LaneDied(Exception):
    """The process of a lane ended although nobody had told it to: killed, out of memory, or ended by a node.

    `exit_code` is as in `multiprocessing`: negative for a signal. The run has ended; steps that were on their way
    carry this error, too.
    """

    def __init__(self, lane: str, exit_code: int | None) -> None:
        self.lane, self.exit_code = lane, exit_code
        super().__init__(f"the process of lane `{lane}` ended unexpectedly: {_told(exit_code)}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.lane, self.exit_code)


def _told(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"killed by signal {-exit_code}"


class RemoteError(Exception):
    """Stands for what a node raised in another process and what could not be pickled.

    `type_name` and `text` are the exception's own, `traceback_text` is as Python prints it.
    """

    def __init__(self, type_name: str, text: str, traceback_text: str) -> None:
        self.type_name, self.text, self.traceback_text = type_name, text, traceback_text
        super().__init__(f"{type_name}: {text}\n{traceback_text}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.type_name, self.text, self.traceback_text)


class InternalError(Exception):
    """Our bug, never your topology or your node: please report it with the chained cause."""
