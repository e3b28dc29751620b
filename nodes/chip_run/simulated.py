"""A chip on the CPU, by the clock of the lane's queue: a stand-in for a driver, for tests and drills."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from graph.lanes.queue import Queue
from nodes.chip_run.driver import Tensors

Program = Callable[[Tensors, Tensors], object]
"""Writes the results; called with the arguments and the results when the run's turn on the queue comes."""


class SimulatedStream:
    """A stretch of the lane's queue, from the fork of a run to its join."""

    def __init__(self, chip: SimulatedChip, number: int) -> None:
        self.number = number
        """In the order in which the chip made its streams."""
        self._chip = chip
        self._running = False
        """Set when a run is launched, cleared on the queue when it has ended."""

    def run(self, program: Program, arguments: Tensors, results: Tensors) -> None:
        """On the queue: the run, up to its join."""
        try:
            program(arguments, results)
        finally:
            self._running = False

    def fork(self) -> None:
        self._running = True

    def done(self) -> bool:
        return not self._running

    def replenish(self) -> None:
        """It is ready again as it is."""

    def close(self) -> None:
        self._chip.closed(self)


class SimulatedExecutor:
    def __init__(self, chip: SimulatedChip) -> None:
        self._chip = chip

    def launch(
        self, program: Program, arguments: Tensors, results: Tensors, stream: SimulatedStream, queue: Queue
    ) -> None:
        stream.fork()
        if self._chip.seconds:
            queue.busy(self._chip.seconds)
        queue.enqueue(partial(stream.run, program, arguments, results))

    def close(self) -> None:
        self._chip.closed(self)


class SimulatedChip:
    """A chip on which each run takes `seconds`, and what its program takes on the CPU."""

    device = "cpu"

    def __init__(self, seconds: float = 0.0) -> None:
        if seconds < 0:
            raise ValueError(f"SimulatedChip(seconds={seconds}): a run takes 0 seconds or more")
        self.seconds = seconds
        self.streams_made = 0
        self._open: set[SimulatedStream | SimulatedExecutor] = set()
        self._is_closed = False

    def stream(self) -> SimulatedStream:
        self._check_open()
        made = SimulatedStream(self, self.streams_made)
        self.streams_made += 1
        self._open.add(made)
        return made

    def executor(self) -> SimulatedExecutor:
        self._check_open()
        if any(isinstance(one, SimulatedExecutor) for one in self._open):
            raise RuntimeError("the chip has a native executor: there is one for each device context")
        made = SimulatedExecutor(self)
        self._open.add(made)
        return made

    def closed(self, part: SimulatedStream | SimulatedExecutor) -> None:
        """Told by the part itself. Raises `RuntimeError` where it was closed before, or is another chip's."""
        if part not in self._open:
            raise RuntimeError(f"{type(part).__name__} is not open")
        self._open.remove(part)

    def close(self) -> None:
        """Raises `RuntimeError` while something of it is open."""
        if self._open:
            raise RuntimeError(f"{len(self._open)} parts of the chip are open: leave the run's block first")
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("the chip is closed")
