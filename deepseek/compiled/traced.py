"""The decode step as a module that can be exported: weights, caches and request state are its constants.

Constants are bound by name when a compiled step is loaded, so that nothing is embedded and nothing copied;
what changes from slot to slot is an argument.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

from torch import Tensor, nn

from deepseek.decode_step import decode_step
from deepseek.model.network import Model
from deepseek.state import Caches, LayerCache

INPUTS = ("rows", "generation", "positions", "tokens", "temperature", "top_p", "seed")
"""Fields of `DecodeInputs` in the order of the step's arguments; the last one is `DecodeOutputs.sampled`."""


class TracedStep(nn.Module):
    """`forward(*inputs, sampled)` writes what `decode_step` returns to `sampled`, and returns nothing."""

    def __init__(self, model: Model, state: Any, caches: Caches) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("tail", state.tail)
        self.register_buffer("generation", state.generation)
        for number, tensor in enumerate(caches.tensors()):
            self.register_buffer(f"cache_{number}", tensor)
        self._caches = caches

    def forward(self, *tensors: Tensor) -> tuple[()]:
        inputs = SimpleNamespace(**dict(zip(INPUTS, tensors, strict=False)))
        state = SimpleNamespace(tail=self.tail, generation=self.generation)
        tensors[-1].copy_(decode_step(self.model, inputs, state, self._registered_caches()))
        return ()

    def constants(self) -> dict[str, Tensor]:
        """Every tensor by the name under which a compiled step knows it."""
        return {**dict(self.named_parameters()), **dict(self.named_buffers())}

    def _registered_caches(self) -> Caches:
        """The caches with their tensors as registered: tracing replaces those."""
        numbers = iter(range(len(self._caches.tensors())))
        layers = tuple(
            LayerCache(
                **{
                    field.name: getattr(self, f"cache_{next(numbers)}")
                    for field in dataclasses.fields(layer)
                    if getattr(layer, field.name) is not None
                }
            )
            for layer in self._caches.layers
        )
        return dataclasses.replace(self._caches, layers=layers)
