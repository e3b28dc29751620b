"""A CUDA device as a chip: a real stream and two events for each slot. Not yet run on hardware.

A run forks from the lane's queue by one event and joins it again by the other. A program is a function of tensors
that launches on the current stream; its arguments and results are pinned, so it copies with `non_blocking=True`.
"""

from __future__ import annotations

import ctypes
from functools import partial

import torch

from graph.lanes.queue import Queue
from nodes.chip_run.driver import Tensors
from nodes.chip_run.simulated import Program


class CudaStream:
    """A stream of its own rather than one of torch's pool, which hands each of its streams out again."""

    def __init__(self, device: torch.device) -> None:
        handle = ctypes.c_void_p()
        with torch.cuda.device(device):
            _check(torch.cuda.cudart().cudaStreamCreate(ctypes.addressof(handle)))  # type: ignore[no-untyped-call]
        assert handle.value is not None
        self._handle, self._device = handle.value, device
        self.stream = torch.cuda.ExternalStream(handle.value, device)  # type: ignore[no-untyped-call]
        self.fork = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self.join = torch.cuda.Event()  # type: ignore[no-untyped-call]
        """Recorded at the end of each run; before the first one it counts as reached."""

    def done(self) -> bool:
        return bool(self.join.query())  # type: ignore[no-untyped-call]

    def replenish(self) -> None:
        """Its events are recorded anew by the next run."""

    def close(self) -> None:
        """CUDA destroys a stream on which work is left once that has ended."""
        with torch.cuda.device(self._device):
            _check(torch.cuda.cudart().cudaStreamDestroy(self._handle))  # type: ignore[no-untyped-call]


class CudaExecutor:
    def __init__(self, chip: CudaChip) -> None:
        self._chip = chip

    def launch(
        self, program: Program, arguments: Tensors, results: Tensors, stream: CudaStream, queue: Queue
    ) -> None:
        queue.enqueue(partial(self._fork, program, arguments, results, stream))

    def _fork(self, program: Program, arguments: Tensors, results: Tensors, stream: CudaStream) -> None:
        """Called with the lane's queue as the current stream; the join is recorded also where launching fails."""
        lane = torch.cuda.current_stream(self._chip.torch_device)
        stream.fork.record(lane)
        stream.stream.wait_event(stream.fork)
        try:
            with torch.cuda.stream(stream.stream):
                program(arguments, results)
        finally:
            stream.join.record(stream.stream)
            lane.wait_event(stream.join)

    def close(self) -> None:
        self._chip.executor_closed()


class CudaChip:
    """`device` is what the graph's run is given, such as `cuda` or `cuda:1`."""

    def __init__(self, device: str = "cuda") -> None:
        self.device = device
        self.torch_device = torch.device(device)
        if self.torch_device.type != "cuda":
            raise ValueError(f"CudaChip({device!r}): give a CUDA device")
        self._has_executor = False

    def stream(self) -> CudaStream:
        return CudaStream(self.torch_device)

    def executor(self) -> CudaExecutor:
        if self._has_executor:
            raise RuntimeError("the chip has a native executor: there is one for each device context")
        self._has_executor = True
        return CudaExecutor(self)

    def executor_closed(self) -> None:
        self._has_executor = False

    def close(self) -> None:
        """torch keeps the device's context until the process ends. Raises `RuntimeError` before the run has ended."""
        if self._has_executor:
            raise RuntimeError("the native executor is open: leave the run's block first")


def _check(code: object) -> None:
    torch.cuda.check_error(int(code))  # type: ignore[call-overload]
