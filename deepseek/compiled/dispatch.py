"""The decode route's dispatch as one foreign call."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import Tensor

from deepseek.compiled.library import BoundStep, Library
from deepseek.compiled.shape import StepShape
from deepseek.compiled.traced import INPUTS, OUTPUTS, TracedStep
from deepseek.decode import Dispatch
from deepseek.model.network import Model
from graph.node import Context, Step
from nodes import DispatchNode
from nodes.device_call import DeviceCall

END_S = 1.0
"""How long the end of a run waits for a call that is under way on a queue; what it works on is then kept for good."""


class CompiledDispatch(DispatchNode):
    """Does what `deepseek.decode.Dispatch` does, and leaves the interpreter to the other lanes meanwhile."""

    ports = Dispatch.ports

    def __init__(self, model: Model, library: Library, shape: StepShape) -> None:
        self.model, self.library, self.shape = model, library, shape

    def start(self, context: Context) -> None:
        buffers, sizes = context.buffers, self.shape.sizes
        caches = buffers["caches"]
        found = (self.model.config, self.model.dtype, context.dims["batch"], context.dims["rows"])
        held = (caches.capacity, caches.context, caches.page, caches.pages)
        wanted = (self.shape.config, self.shape.torch_dtype, sizes.batch, sizes.rows)
        # Its code would read past the end of our tensors.
        if found != wanted or held != (sizes.capacity, sizes.context, sizes.page, sizes.pages):
            raise ValueError(
                f"the compiled step is for {self.shape}, and this run for other sizes or another model"
            )
        constants = TracedStep(self.model, buffers["state"], caches).constants()
        self._call = DeviceCall(context, "inputs", "outputs")
        self._step = BoundStep(self.library, constants, len(INPUTS) + len(OUTPUTS))
        self._running = threading.Lock()
        """Held during a call, which on a `stream` lane is not made by the lane's own thread."""

    def run(self, step: Step, slots: Any) -> None:
        inputs, outputs = self._call.tensors(slots, "inputs"), self._call.tensors(slots, "outputs")
        tensors = [
            *(getattr(inputs, name) for name in INPUTS),
            *(getattr(outputs, name) for name in OUTPUTS),
        ]
        self._call(step, partial(self._run, tensors))

    def _run(self, tensors: Sequence[Tensor]) -> None:
        with self._running:
            self._step.run(tensors)

    def stop(self) -> None:
        if self._running.acquire(timeout=END_S):
            self._step.close()
