"""Rotary position embedding on interleaved pairs of the last channels, with YaRN's frequency blend."""

import math

import torch
from torch import Tensor, nn

from deepseek.config import Yarn
from deepseek.model.primitives import split


class Rope(nn.Module):
    """Rotation table of one base; angles are `t * theta^(-2i/dim)`, blended by YaRN where given."""

    inverse_frequency: Tensor

    def __init__(self, dim: int, theta: float, yarn: Yarn | None, device: torch.device | str) -> None:
        super().__init__()
        frequency = inverse_frequencies(dim, theta, yarn).to(device)
        self.register_buffer("inverse_frequency", frequency, persistent=False)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines, `[..., dim/2]` float32, of positions `[...]`."""
        angles = positions.unsqueeze(-1).float() * self.inverse_frequency
        return angles.cos(), angles.sin()


def inverse_frequencies(dim: int, theta: float, yarn: Yarn | None) -> Tensor:
    """`theta^(-2i/dim)` for i in 0..dim/2-1; YaRN (arXiv:2309.00071) divides the slow ones by its factor."""
    frequency = theta ** -(torch.arange(0, dim, 2, dtype=torch.float32, device="cpu") / dim)
    if yarn is None:
        return frequency

    def channel(rotations: float) -> float:
        turns = yarn.original_max_position_embeddings / (2 * math.pi * rotations)
        return dim * math.log(turns) / (2 * math.log(theta))

    low = max(math.floor(channel(yarn.beta_fast)), 0)
    high: float = min(math.ceil(channel(yarn.beta_slow)), dim - 1)
    if low == high:
        high += 0.001
    ramp = ((torch.arange(dim // 2, dtype=torch.float32, device="cpu") - low) / (high - low)).clamp(0, 1)
    return frequency / yarn.factor * ramp + frequency * (1 - ramp)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair (a, b) of the last channels of x into (a cos - b sin, a sin + b cos).

    `cos` and `sin` broadcast against `x[..., : dim/2]`; pass `-sin` to turn back.
    """
    dim = 2 * cos.shape[-1]
    plain, turned = x[..., :-dim], split(x[..., -dim:].float(), dim // 2, 2)
    a, b = turned[..., 0], turned[..., 1]
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
    return torch.cat((plain, turned.to(x.dtype)), -1)
