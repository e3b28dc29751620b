"""The decode route's dispatch as one foreign call."""

from __future__ import annotations

import time
from typing import Any

from deepseek.compiled.library import BoundStep, Library
from deepseek.compiled.shape import StepShape
from deepseek.compiled.traced import INPUTS, OUTPUTS, TracedStep
from deepseek.decode import Dispatch
from deepseek.model.network import Model
from graph.node import Context, Step
from nodes import DispatchNode


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
        self._step = BoundStep(self.library, constants, len(INPUTS) + len(OUTPUTS))

    def run(self, step: Step, slots: Any) -> None:
        began = time.thread_time_ns()
        inputs, outputs = slots.inputs, slots.outputs
        self._step.run(
            [*(getattr(inputs, name) for name in INPUTS), *(getattr(outputs, name) for name in OUTPUTS)]
        )
        step.device_time(time.thread_time_ns() - began)

    def stop(self) -> None:
        self._step.close()
