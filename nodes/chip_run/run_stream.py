"""A chip's stream and what it is doing for which step: ready, bound, launched, and ready again.

The topology's waits alone keep the order; here a step out of order is found out, and no run that is not proved
complete gives its stream to another one.
"""

from __future__ import annotations

from typing import Any, Literal, NoReturn

from graph.errors import Unfinished
from nodes.chip_run.driver import ChipStream

State = Literal["ready", "bound", "launched", "closed"]


class RunStreamError(Unfinished):
    """A run stream was used out of order. What it is doing is then not known: its slot is quarantined, too."""


class RunStream:
    """The stream of one slot. Used by one lane after the other, as the topology orders them."""

    def __init__(self, chip: ChipStream) -> None:
        self.chip = chip
        self.state: State = "ready"
        self.uses = 0
        """Runs that it was bound to."""
        self._step = -1
        """Of the run that it was last bound to."""
        self._program: Any = None

    def bind(self, step: int, program: Any) -> None:
        """Reserve it for the run of a step. Raises `RunStreamError` where it is not ready."""
        if self.state != "ready":
            self._refuse("bound", step, "it has to be ready: the run before has to be retired first")
        self.state, self._step, self._program = "bound", step, program
        self.uses += 1

    def launch(self, step: int) -> Any:
        """The bound program, which the caller launches now. Raises `RunStreamError` where none is bound to the step."""
        if self.state != "bound" or self._step != step:
            self._refuse("launched", step, "it has to be bound to that step, and is launched once")
        self.state = "launched"
        return self._program

    def retire(self, step: int, *, proved: bool) -> None:
        """Make it ready for the next run.

        `proved` says whether the lane saw the run complete, or fail for good. Raises `Unfinished` where the run is not
        proved complete or the chip cannot go on, and `RunStreamError` where no run of the step is on it.
        """
        if self.state not in ("bound", "launched") or self._step != step:
            self._refuse("retired", step, "it has to be bound to that step or launched for it")
        try:
            if self.state == "launched" and not (proved and self.chip.done()):
                raise Unfinished(
                    f"the run of step {step} is not proved complete: its stream is not used again"
                )
            self.chip.replenish()
        except Unfinished:
            raise
        except Exception as error:
            raise Unfinished(f"the stream of step {step} could not be made ready again: {error!r}") from error
        self.state, self._program = "ready", None

    def close(self) -> None:
        """Destroy it. Raises `RunStreamError` the second time."""
        if self.state == "closed":
            raise RunStreamError("the run stream was closed before")
        self.state, self._program = "closed", None
        self.chip.close()

    def _refuse(self, what: str, step: int, mend: str) -> NoReturn:
        last = "" if self._step < 0 else f" (last for step {self._step})"
        raise RunStreamError(f"the run stream is {self.state}{last}, and step {step} wants it {what}: {mend}")
