"""A program for a chip, and a simulated chip that keeps book of what is made, launched and closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import torch

from graph import Program, Runtime, compile, load
from graph.lanes.queue import Queue
from graph.makers import ResourceCounts
from nodes.chip_run import Run, SimulatedChip, executor
from nodes.chip_run.driver import Tensors
from nodes.chip_run.simulated import Program as ChipProgram
from nodes.chip_run.simulated import SimulatedExecutor, SimulatedStream
from tests.fakes import HANG_S

CHIP_RUN: Program = compile(load("chip_run"))


def double(arguments: Tensors, results: Tensors) -> None:
    """A program: every result is twice its argument."""
    torch.mul(arguments["values"], 2, out=results["values"])


def run_of(step: int, program: ChipProgram = double) -> Run:
    return Run(program, {"values": float(step + 1)})


def doubled(result: Mapping[str, torch.Tensor]) -> float:
    """The one value that all of a result are."""
    (value,) = set(result["values"].tolist())
    return float(value)


class BookedExecutor(SimulatedExecutor):
    def launch(
        self,
        program: ChipProgram,
        arguments: Tensors,
        results: Tensors,
        stream: SimulatedStream,
        queue: Queue,
    ) -> None:
        assert isinstance(self._chip, BookedChip)
        self._chip.launched.append(stream.number)
        super().launch(program, arguments, results, stream, queue)


class BookedChip(SimulatedChip):
    """Closing a part twice raises, as of any simulated chip."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(seconds)
        self.launched: list[int] = []
        """The number of each run's stream, in order of launch."""
        self.closed_streams: list[int] = []
        self.executors_made = 0

    def executor(self) -> SimulatedExecutor:
        super().executor().close()  # there is none yet
        made = BookedExecutor(self)
        self._open.add(made)
        self.executors_made += 1
        return made

    def closed(self, part: SimulatedStream | SimulatedExecutor) -> None:
        super().closed(part)
        if isinstance(part, SimulatedStream):
            self.closed_streams.append(part.number)


def start(chip: SimulatedChip, program: Program = CHIP_RUN, **options: Any) -> Runtime:
    options = {"checked": True, "queue": 12, "drain_timeout": HANG_S, **options}
    return Runtime(program, executor(chip), **options)


def outcome(ticket: Future[Any]) -> Any:
    """The value of the step's result, or its error."""
    error = ticket.exception(timeout=HANG_S)
    return doubled(ticket.result()) if error is None else error


def expected(steps: int, failed: Sequence[int] = ()) -> list[float | None]:
    """The values of `run_of` steps; None for a step that fails."""
    return [None if step in failed else 2.0 * (step + 1) for step in range(steps)]


def values(outcomes: Sequence[Any]) -> list[Any]:
    """The same of a run."""
    return [None if isinstance(one, Exception) else one for one in outcomes]


def balanced(counts: Mapping[str, ResourceCounts], *, live: Mapping[str, int]) -> bool:
    """At rest: whatever was made is live or retired, and whatever is beyond the slots was rebuilt."""
    slots = {"streams": 2, "executor": 1}
    return set(counts) == set(slots) and all(
        one.made == one.live + one.retired
        and one.made - slots[name] == one.rebuilt
        and one.live == live[name]
        for name, one in counts.items()
    )


IN_THE_RUN = {"streams": 2, "executor": 1}
OVER = {"streams": 0, "executor": 0}
