"""What a compiled step depends on besides the machine and the code: configuration and sizes, not weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Self

import torch

from deepseek.config import ModelConfig
from deepseek.sizes import Sizes

SMALLEST_CONTEXT = 256


@dataclass(frozen=True)
class StepShape:
    """The sizes of one compiled decode step."""

    config: ModelConfig
    sizes: Sizes
    dtype: str
    """Type of the weights, `float32` or `bfloat16`."""
    threads: int
    """Torch threads of the lane that calls it: the generated code divides its loops by it."""

    @property
    def torch_dtype(self) -> torch.dtype:
        dtype = getattr(torch, self.dtype)
        assert isinstance(dtype, torch.dtype)
        return dtype

    def to_json(self) -> str:
        """For `from_json`, in another process."""
        return json.dumps({**asdict(self), "config": self.config.model_dump(mode="json")})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The reverse of `to_json`."""
        fields = json.loads(text)
        config, sizes = ModelConfig.model_validate(fields["config"]), Sizes(**fields["sizes"])
        return cls(**{**fields, "config": config, "sizes": sizes})

    @property
    def decoding(self) -> dict[str, int]:
        """The sizes that the step depends on; those of prompts are not among them."""
        names = ("batch", "capacity", "rows", "context", "page", "pages")
        return {name: getattr(self.sizes, name) for name in names}

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} {size}" for name, size in self.decoding.items())
        return f"{sizes}, {self.dtype}, threads {self.threads}"


def rounded(sizes: Sizes) -> Sizes:
    """Sizes whose context is the next power of two, at least 256, so that runs of different lengths share a step."""
    context = max(SMALLEST_CONTEXT, 1 << (sizes.context - 1).bit_length())
    pages = 0 if sizes.pages == sizes.capacity * sizes.blocks else sizes.pages
    return replace(sizes, context=context, pages=pages)
