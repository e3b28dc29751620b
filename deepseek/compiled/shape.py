"""What a compiled step depends on besides the machine and the code: configuration and sizes, not weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

import torch

from deepseek.config import ModelConfig

SMALLEST_CONTEXT = 256


@dataclass(frozen=True)
class StepShape:
    """The sizes of one compiled decode step."""

    config: ModelConfig
    batch: int
    capacity: int
    context: int
    """Tokens per request that the caches hold."""
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
        return cls(**{**fields, "config": ModelConfig.model_validate(fields["config"])})

    def __str__(self) -> str:
        sizes = f"batch {self.batch}, {self.capacity} rows, context {self.context}"
        return f"{sizes}, {self.dtype}, threads {self.threads}"


def rounded_context(context: int) -> int:
    """The next power of two, at least 256, so that runs of different lengths share a compiled step."""
    return max(SMALLEST_CONTEXT, 1 << (context - 1).bit_length())
