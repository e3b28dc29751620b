"""Manifold-constrained hyper-connections (mHC): N residual streams mixed around every sub-block.

All arithmetic is float32, whatever the streams' type.
"""

import torch
from torch import Tensor, nn

from deepseek.config import ModelConfig
from deepseek.model.primitives import linear, parameter, rms, split


class HyperConnection(nn.Module):
    """Reads a sub-block's input off the streams and writes its output back to them."""

    def __init__(self, config: ModelConfig, device: torch.device | str) -> None:
        super().__init__()
        n, d = config.hc_mult, config.hidden_size
        self.n, self.iterations = n, config.hc_sinkhorn_iters
        self.eps, self.norm_eps = config.hc_eps, config.rms_norm_eps
        self.fn = parameter((2 + n) * n, n * d, dtype=torch.float32, device=device)
        self.base = parameter((2 + n) * n, dtype=torch.float32, device=device)
        self.scale = parameter(3, dtype=torch.float32, device=device)

    def read(self, streams: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Streams `[B, R, N, D]` to a block's input `[B, R, D]`, post `[B, R, N]`, comb `[B, R, N, N]`."""
        n = self.n
        mixed = linear(rms(streams.flatten(-2), self.norm_eps), self.fn)
        base, scale = self.base, self.scale
        pre = torch.sigmoid(mixed[..., :n] * scale[0] + base[:n]) + self.eps
        post = 2 * torch.sigmoid(mixed[..., n : 2 * n] * scale[1] + base[n : 2 * n])
        comb = split(mixed[..., 2 * n :] * scale[2] + base[2 * n :], n, n)
        value = (pre.unsqueeze(-2) @ streams.float()).squeeze(-2)
        return value.to(streams.dtype), post, self._sinkhorn(comb)

    def write(self, value: Tensor, streams: Tensor, post: Tensor, comb: Tensor) -> Tensor:
        """New stream k is `post[k] * value + sum_j comb[j, k] * stream j`; note that comb is transposed."""
        kept = comb.mT @ streams.float()
        return torch.addcmul(kept, post.unsqueeze(-1), value.float().unsqueeze(-2)).to(streams.dtype)

    def _sinkhorn(self, comb: Tensor) -> Tensor:
        """Towards a doubly stochastic matrix; starts from row softmax, ends on a column normalisation."""
        matrix = comb.softmax(-1) + self.eps
        matrix = matrix / (matrix.sum(-2, keepdim=True) + self.eps)
        for _ in range(self.iterations - 1):
            matrix = matrix / (matrix.sum(-1, keepdim=True) + self.eps)
            matrix = matrix / (matrix.sum(-2, keepdim=True) + self.eps)
        return matrix


class HyperHead(nn.Module):
    """Collapses the streams `[..., N, D]` into one `[..., D]` after the last layer."""

    def __init__(self, config: ModelConfig, device: torch.device | str) -> None:
        super().__init__()
        n, d = config.hc_mult, config.hidden_size
        self.eps, self.norm_eps = config.hc_eps, config.rms_norm_eps
        self.fn = parameter(n, n * d, dtype=torch.float32, device=device)
        self.base = parameter(n, dtype=torch.float32, device=device)
        self.scale = parameter(1, dtype=torch.float32, device=device)

    def forward(self, streams: Tensor) -> Tensor:
        mixed = linear(rms(streams.flatten(-2), self.norm_eps), self.fn)
        weight = torch.sigmoid(mixed * self.scale + self.base) + self.eps
        return (weight.unsqueeze(-2) @ streams.float()).squeeze(-2).to(streams.dtype)
