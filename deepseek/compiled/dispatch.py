"""The decode route's dispatch as one foreign call."""

from __future__ import annotations

import time
from typing import Any

from deepseek.compiled.library import BoundStep, Library
from deepseek.compiled.shape import StepShape
from deepseek.compiled.traced import INPUTS, TracedStep
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
        buffers, shape = context.buffers, self.shape
        caches, batch = buffers["caches"], context.dims["batch"]
        found = (self.model.config, batch, caches.capacity, caches.context, self.model.dtype)
        wanted = (shape.config, shape.batch, shape.capacity, shape.context, shape.torch_dtype)
        if found != wanted:  # its code would read past the end of our tensors
            raise ValueError(
                f"the compiled step is for {shape}, and this run for other sizes or another model"
            )
        constants = TracedStep(self.model, buffers["state"], caches).constants()
        self._step = BoundStep(self.library, constants, len(INPUTS) + 1)

    def run(self, step: Step, slots: Any) -> None:
        began = time.thread_time_ns()
        inputs = slots.inputs
        self._step.run([*(getattr(inputs, name) for name in INPUTS), slots.outputs.sampled])
        step.device_time(time.thread_time_ns() - began)

    def stop(self) -> None:
        self._step.close()
