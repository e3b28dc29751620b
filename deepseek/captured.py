"""The decode step as a CUDA graph: captured once per slot, since a slot's addresses stay, then replayed by one call.

A graph replays on the addresses it was captured with. A slot that is replaced has others, so its step is captured
anew and the graph that nobody replays any more is dropped. Not yet run on hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import lcm
from types import SimpleNamespace
from typing import Any, Protocol

import torch
from torch import Tensor

from deepseek.decode import Dispatch
from deepseek.model.network import Model
from graph.lanes.queue import Queue
from graph.node import Context

READY_S = 600.0
"""Longest wait for the first step on an unused batch: libraries are loaded and kernels chosen there."""

Addresses = tuple[int, ...]


class Replayable(Protocol):
    """Work that the device was told once."""

    def replay(self) -> None:
        """Put it on the current queue again."""

    def reset(self) -> None:
        """Let go of it and of the memory that it works in."""


Capture = Callable[[Callable[[], object]], Replayable]
"""Records what a call launches on the current queue, without doing it."""


class CudaCapture:
    """Captures into `torch.cuda.CUDAGraph`s on the current stream, in one private memory pool, which is the first's.

    They may share it since one lane replays them, one after another, and what a step yields is copied into its slot.
    The first graph must be reset last.
    """

    def __init__(self) -> None:
        self._pool: Any = None

    def __call__(self, work: Callable[[], object]) -> torch.cuda.CUDAGraph:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
        # Other threads of the run go on meanwhile, and may allocate and look at events.
        with torch.cuda.graph(graph, self._pool, stream, capture_error_mode="thread_local"):
            work()
        if self._pool is None:
            self._pool = graph.pool()
        return graph


class Graphs:
    """Captured work by the addresses it works on, `most` of them; the one not replayed for longest goes first."""

    def __init__(self, capture: Capture, most: int) -> None:
        self._capture, self._most = capture, most
        self._graphs: dict[Addresses, Replayable] = {}

    def replay(self, addresses: Addresses, work: Callable[[], object]) -> None:
        """Do `work`, which always does the same with these addresses."""
        graph = self._graphs.pop(addresses, None) or self._capture(work)
        self._graphs[addresses] = graph
        while len(self._graphs) > self._most:
            self._graphs.pop(next(iter(self._graphs))).reset()
        graph.replay()

    def reset(self) -> None:
        """Drop all of them."""
        for graph in self._graphs.values():
            graph.reset()
        self._graphs.clear()


class CapturedDispatch(Dispatch):
    """Replays the decode step on a `stream` lane of a CUDA device; elsewhere it does what `Dispatch` does.

    Captured is only what works on slots on the device: with others, a step waits for copies of the host's memory.
    `capture` None is `CudaCapture`; with another one, steps are captured whatever the device is.
    """

    def __init__(self, model: Model, capture: Capture | None = None) -> None:
        super().__init__(model)
        self._capture = capture
        self._graphs: Graphs | None = None
        self._rehearsed: Replayable | None = None
        self.captures = False
        """Whether steps are captured in the run that was started last."""

    def start(self, context: Context) -> None:
        """Raises `RuntimeError` where the step cannot be captured."""
        super().start(context)
        on_cuda = context.device.startswith("cuda")
        capture = CudaCapture() if self._capture is None and on_cuda else self._capture
        self.captures = context.stream is not None and capture is not None and self.call.copied
        if not self.captures:
            return
        assert context.stream is not None
        assert capture is not None
        unused = _unused(context, self.caches.scrap, self.caches.scrap_page)
        if on_cuda:
            torch.cuda.synchronize(context.device)  # weights, state and that batch were made on other streams
        self._rehearsed = _rehearse(context.stream, capture, super().work(*unused))
        self._graphs = Graphs(capture, lcm(*context.slots.values()))

    def work(self, inputs: SimpleNamespace, outputs: SimpleNamespace) -> Callable[[], object]:
        work = super().work(inputs, outputs)
        if self._graphs is None:
            return work
        tensors = (*vars(inputs).values(), *vars(outputs).values())
        return partial(self._graphs.replay, tuple(tensor.data_ptr() for tensor in tensors), work)

    def stop(self) -> None:
        graphs, self._graphs = self._graphs, None
        rehearsed, self._rehearsed = self._rehearsed, None
        if graphs is not None:
            graphs.reset()
        if rehearsed is not None:
            rehearsed.reset()


def _unused(context: Context, scrap: int, scrap_page: int) -> tuple[SimpleNamespace, SimpleNamespace]:
    """Inputs and outputs of a batch without requests, which leaves no trace in state and caches."""

    def filled(value: int, *shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
        return torch.full(shape, value, dtype=dtype, device=context.device)

    batch, rows, blocks = (context.dims[name] for name in ("batch", "rows", "blocks"))
    inputs = SimpleNamespace(
        rows=filled(scrap, batch),
        generation=filled(0, batch, dtype=torch.int32),
        pages=filled(scrap_page, batch, blocks),
        positions=filled(-1, batch),
        tokens=filled(-1, batch, rows),
    )
    outputs = SimpleNamespace(
        sampled=filled(0, batch, rows), next=filled(0, batch, rows), positions=filled(0, batch)
    )
    return inputs, outputs


def _rehearse(queue: Queue, capture: Capture, work: Callable[[], object]) -> Replayable:
    """Do the work once, so that libraries initialise outside a capture, then capture it to see that it can be."""
    captured: list[Replayable] = []

    def rehearse() -> None:
        with torch.inference_mode():
            work()
            captured.append(capture(work))

    try:
        queue.enqueue(rehearse)
        if not queue.mark().wait(READY_S):
            raise TimeoutError(f"a first decode step has not ended after {READY_S:g} s")
    except Exception as error:
        raise RuntimeError(
            f"the decode step cannot be captured as a CUDA graph: {error}. Run it eagerly: --eager"
        ) from error
    return captured[0]
