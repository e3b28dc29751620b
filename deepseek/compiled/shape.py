"""What a compiled step depends on besides the machine and the code: sizes and configuration, never weights."""

from __future__ import annotations

from dataclasses import dataclass

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

    def __str__(self) -> str:
        return f"batch {self.batch}, {self.capacity} rows, context {self.context}, {self.dtype}, threads {self.threads}"


def rounded_context(context: int) -> int:
    """The next power of two, at least 256, so that runs of different lengths share a compiled step."""
    return max(SMALLEST_CONTEXT, 1 << (context - 1).bit_length())
