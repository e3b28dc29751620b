"""The decode step as a module that can be exported: weights, caches and request state are its constants.

Constants are bound by name when a compiled step is loaded, so that nothing is embedded and nothing copied;
what changes from slot to slot is an argument.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

from torch import Tensor, nn

from deepseek.decode_step import Decoded, decode_step
from deepseek.model.network import Model
from deepseek.state import Caches, LayerCache

INPUTS = ("rows", "generation", "pages", "positions", "tokens")
"""Fields of `DecodeInputs` in the order of the step's arguments."""
OUTPUTS = Decoded._fields
"""Fields of `DecodeOutputs`, the arguments after those."""
STATE = ("tokens", "positions", "committed", "generation", "temperature", "top_p", "seed")
"""Fields of `RequestState`."""


class TracedStep(nn.Module):
    """`forward(*inputs, *outputs)` writes what `decode_step` returns to the outputs, and returns nothing."""

    def __init__(self, model: Model, state: Any, caches: Caches) -> None:
        super().__init__()
        self.model = model
        for name in STATE:
            self.register_buffer(name, getattr(state, name))
        for number, tensor in enumerate(caches.tensors()):
            self.register_buffer(f"cache_{number}", tensor)
        self._caches = caches

    def forward(self, *tensors: Tensor) -> tuple[()]:
        inputs = SimpleNamespace(**dict(zip(INPUTS, tensors, strict=False)))
        state = SimpleNamespace(**{name: getattr(self, name) for name in STATE})
        decoded = decode_step(self.model, inputs, state, self._registered_caches())
        for target, value in zip(tensors[len(INPUTS) :], decoded, strict=True):
            target.copy_(value)
        return ()

    def constants(self) -> dict[str, Tensor]:
        """Every tensor by the name under which a compiled step knows it."""
        return {**dict(self.named_parameters()), **dict(self.named_buffers())}

    def _registered_caches(self) -> Caches:
        """The caches with their tensors as registered: tracing replaces those."""
        numbers = iter(range(len(self._caches.tensors())))

        def registered(layer: LayerCache) -> LayerCache:
            return LayerCache(
                **{
                    field.name: getattr(self, f"cache_{next(numbers)}")
                    for field in dataclasses.fields(layer)
                    if getattr(layer, field.name) is not None
                }
            )

        layers = tuple(map(registered, self._caches.layers))
        prediction = self._caches.prediction and registered(self._caches.prediction)
        return dataclasses.replace(self._caches, layers=layers, prediction=prediction)
