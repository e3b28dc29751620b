"""The whole network: one forward path for prompts (many rows per request) and decoding (one or a few).

Batches of unequal positions and lengths are the normal case. Every shape follows from the batch, the rows per
request and the cache sizes; no value is read back to Python.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepseek.config import AttentionKind, ModelConfig
from deepseek.model.hyper import HyperHead
from deepseek.model.layer import Layer
from deepseek.model.primitives import Linear, RMSNorm, parameter
from deepseek.model.rope import Rope
from deepseek.model.step import Step
from deepseek.state import Caches


class Model(nn.Module):
    """DeepSeek-V4 without weights; `deepseek.checkpoint.load_model` fills them in.

    Routers, hyper-connections, compressors, sinks and softmaxes stay float32 whatever `dtype` is.

    On CPU a matrix product takes another kernel below four rows, so its last bits depend on the batch; pad
    decode batches to at least four requests where runs with different batches must agree bit for bit.
    """

    def __init__(
        self, config: ModelConfig, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__()
        self.config = config
        self.dtype = dtype
        hidden, rope_dim = config.hidden_size, config.qk_rope_head_dim
        self.embed = Embedding(config.vocab_size, hidden, dtype, device)
        self.layers = nn.ModuleList(Layer(config, layer, dtype, device) for layer in config.layers)
        self.hc_head = HyperHead(config, device)
        self.norm = RMSNorm(hidden, config.rms_norm_eps, dtype, device)
        self.head = Linear(hidden, config.vocab_size, dtype, device)
        self.rope = Rope(rope_dim, config.rope_theta, None, device)
        self.compress_rope = Rope(rope_dim, config.compress_rope_theta, config.yarn, device)

    def forward(self, ids: Tensor, positions: Tensor, rows: Tensor, length: Tensor, caches: Caches) -> Tensor:
        """Logits `[B, V]` float32 of each request's last valid row; arguments as for `streams`."""
        streams = self.streams(ids, positions, rows, length, caches)
        last = (length - 1).clamp(min=0)
        return self.logits(streams[torch.arange(ids.shape[0], device=ids.device), last])

    def streams(self, ids: Tensor, positions: Tensor, rows: Tensor, length: Tensor, caches: Caches) -> Tensor:
        """Residual streams `[B, R, N, D]` after the last layer; the caches are updated in place.

        Args:
            ids: [B, R] int64 token ids; padding may hold any valid id.
            positions: [B] int64 absolute position of row 0 of each request. The positions before it must have
                been run already, in this cache row.
            rows: [B] int64 cache row of each request, distinct, or `caches.scrap` for an unused place.
            length: [B] int64 valid rows, 0..R; the rest is padding and leaves no visible trace.
            caches: the state; a request may not grow past `caches.context`.
        """
        step = Step(positions, rows, length, ids.shape[1], caches.scrap)
        streams: Tensor = self.embed(ids).unsqueeze(2).expand(-1, -1, self.config.hc_mult, -1)
        for layer, spec, cache in zip(self.layers, self.config.layers, caches.layers, strict=True):
            rope = self.rope if spec.kind is AttentionKind.SLIDING else self.compress_rope
            streams = layer(streams, ids, step, rope, cache)
        return streams

    def logits(self, streams: Tensor) -> Tensor:
        """Streams `[..., N, D]` to logits `[..., V]` float32."""
        logits: Tensor = self.head(self.norm(self.hc_head(streams)))
        return logits.float()


class Embedding(nn.Module):
    """Token embedding `weight: [V, D]`."""

    def __init__(self, count: int, size: int, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__()
        self.weight = parameter(count, size, dtype=dtype, device=device)

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight)
