"""Bias-free linear maps and root-mean-square norms, allocated but not initialised."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_FEW = 8
"""Rows up to which compiled code's own loop beats the library's product (measured on one core)."""

_PARTS = 4
"""Places at which a compiled product reads its weights by turns."""


def parameter(*shape: int, dtype: torch.dtype, device: torch.device | str) -> nn.Parameter:
    """An uninitialised, frozen parameter."""
    return nn.Parameter(torch.empty(*shape, dtype=dtype, device=device), requires_grad=False)


def split(x: Tensor, *sizes: int) -> Tensor:
    """x with its last axis split into axes of these sizes."""
    return x.reshape(*x.shape[:-1], *sizes)


def rms(x: Tensor, eps: float) -> Tensor:
    """`x / sqrt(mean(x^2) + eps)` over the last axis, in float32."""
    x = x.float()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """`x @ weight^T`, x `[..., in]`, weight `[out, in]`."""
    if not torch.compiler.is_compiling() or x.shape[:-1].numel() > _FEW:
        return F.linear(x, weight)
    rows = x.reshape(-1, x.shape[-1])
    dots = torch.cat([(part.unsqueeze(1) * rows).sum(-1) for part in parts(weight)])
    return dots.mT.reshape(*x.shape[:-1], weight.shape[0])


def parts(weight: Tensor) -> tuple[Tensor, ...]:
    """Weights `[..., out, in]` in parts along `out`, each to be multiplied and summed by itself.

    The compiler makes one loop of them. It sums in several registers, and reads in several places, of which a
    processor fetches more ahead than of one.
    """
    return weight.chunk(_PARTS, -2)


class Linear(nn.Module):
    """`x @ weight^T`, `weight: [out, in]`; computed in the weight's type."""

    def __init__(self, inner: int, outer: int, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__()
        self.weight = parameter(outer, inner, dtype=dtype, device=device)

    def forward(self, x: Tensor) -> Tensor:
        return linear(x.to(self.weight.dtype), self.weight)


class RMSNorm(nn.Module):
    """`weight * rms(x)`, computed in float32 and cast once, to the type of x."""

    def __init__(self, size: int, eps: float, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__()
        self.eps = eps
        self.weight = parameter(size, dtype=dtype, device=device)

    def forward(self, x: Tensor) -> Tensor:
        return (rms(x, self.eps) * self.weight).to(x.dtype)
