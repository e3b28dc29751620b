"""Shared-KV attention over a sliding window and compressed entries, with sinks and grouped output."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepseek.config import AttentionKind, LayerConfig, ModelConfig
from deepseek.model.compressor import Compressor
from deepseek.model.indexer import Indexer
from deepseek.model.primitives import Linear, RMSNorm, parameter, rms, split
from deepseek.model.rope import Rope, rotate
from deepseek.model.step import Step, write
from deepseek.state import LayerCache


@dataclass(frozen=True)
class Keys:
    """Keys, which are also the values, and who may see them."""

    keys: Tensor
    """[B, K, d] shared by a request's rows, or [B, R, K, d] one set per row; finite everywhere."""
    visible: Tensor
    """[B, R, K]"""


class Attention(nn.Module):
    """One attention sub-block. The layer's kind decides what is attended beside the window."""

    def __init__(
        self, config: ModelConfig, layer: LayerConfig, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        super().__init__()
        heads, dim, hidden = config.num_attention_heads, config.head_dim, config.hidden_size
        self.heads, self.dim, self.groups = heads, dim, config.o_groups
        self.rate, self.window, self.eps = layer.rate, config.sliding_window, config.rms_norm_eps
        self.wq_a = Linear(hidden, config.q_lora_rank, dtype, device)
        self.q_norm = RMSNorm(config.q_lora_rank, config.rms_norm_eps, dtype, device)
        self.wq_b = Linear(config.q_lora_rank, heads * dim, dtype, device)
        self.wkv = Linear(hidden, dim, dtype, device)
        self.kv_norm = RMSNorm(dim, config.rms_norm_eps, dtype, device)
        self.wo_a = Linear(heads * dim // self.groups, self.groups * config.o_lora_rank, dtype, device)
        self.wo_b = Linear(self.groups * config.o_lora_rank, hidden, dtype, device)
        self.sink = parameter(heads, dtype=torch.float32, device=device)
        compressed, sparse = layer.kind is not AttentionKind.SLIDING, layer.kind is AttentionKind.CSA
        self.compressor = Compressor(config, dim, layer.rate, sparse, dtype, device) if compressed else None
        self.indexer = Indexer(config, layer.rate, dtype, device) if sparse else None

    def forward(self, x: Tensor, step: Step, rope: Rope, cache: LayerCache) -> Tensor:
        """Attend from x `[B, R, D]` (already normed) to the cached past and to x itself; update the cache."""
        cos, sin = (table.unsqueeze(2) for table in rope(step.t))
        low_rank = self.q_norm(self.wq_a(x))
        query = rms(split(self.wq_b(low_rank), self.heads, self.dim), self.eps).to(x.dtype)
        query = rotate(query, cos, sin)
        kv = rotate(self.kv_norm(self.wkv(x)), cos.squeeze(2), sin.squeeze(2))
        attended = [self._window(kv, step, cache), *self._compressed(x, low_rank, step, rope, cache)]
        ring = step.ring(cache.window.shape[1])
        write(cache.window, ring.write_row, ring.write_slot, kv)
        # Values carry the key's rotation: turning back leaves relative positions only.
        return self._project(rotate(attend(query, attended, self.sink), cos, -sin))

    def _window(self, kv: Tensor, step: Step, cache: LayerCache) -> Keys:
        size = cache.window.shape[1]
        held = step.window_held(size, self.window)
        old = cache.window[step.rows].masked_fill(~held.unsqueeze(-1), 0)
        return Keys(torch.cat((old, kv), 1), step.window_mask(size, self.window))

    def _compressed(
        self, x: Tensor, low_rank: Tensor, step: Step, rope: Rope, cache: LayerCache
    ) -> list[Keys]:
        if self.compressor is None:
            return []
        assert cache.raw is not None
        assert cache.entries is not None
        self.compressor(x, step, rope, cache.raw, cache.entries)
        entries = step.entries(self.rate, cache.entries.shape[1])
        if self.indexer is None:
            return [Keys(entries.read(cache.entries), entries.visible)]
        assert cache.index_raw is not None
        assert cache.index_keys is not None
        picks, seen = self.indexer(x, low_rank, step, rope, cache.index_raw, cache.index_keys)
        if step.width * picks.shape[2] > entries.written.shape[1]:  # picks per row would be more to copy
            chosen = torch.zeros_like(entries.visible).scatter(2, picks, seen)
            return [Keys(entries.read(cache.entries), chosen)]
        return [Keys(entries.pick(cache.entries, picks, seen), seen)]

    def _project(self, output: Tensor) -> Tensor:
        """Heads `[B, R, heads, d]` through the grouped low-rank output projection to `[B, R, D]`."""
        grouped = split(output.flatten(2), self.groups, -1)
        rank = self.wo_a.weight.reshape(self.groups, -1, grouped.shape[-1])
        low = torch.einsum("brgi,goi->brgo", grouped, rank)
        projected: Tensor = self.wo_b(low.flatten(2))
        return projected


def attend(query: Tensor, attended: list[Keys], sink: Tensor) -> Tensor:
    """Softmax attention of query `[B, R, H, d]` over all keys at once; keys serve as values.

    `sink [H]` is one more, unscaled logit per head whose value is zero.
    """
    scale = query.shape[-1] ** -0.5
    scores = [
        (_dots(query, part.keys) * scale).masked_fill(~part.visible.unsqueeze(2), -torch.inf)
        for part in attended
    ]
    column = sink[:, None].expand(*query.shape[:3], 1)
    weights = torch.cat([*scores, column], -1).softmax(-1)
    output, first = None, 0
    for part in attended:
        last = first + part.visible.shape[-1]
        value = _mix(weights[..., first:last].to(query.dtype), part.keys)
        output = value if output is None else output + value
        first = last
    assert output is not None
    return output


def _dots(query: Tensor, keys: Tensor) -> Tensor:
    """Query `[B, R, H, d]` times keys: `[B, R, H, K]` float32."""
    if keys.dim() == 4:
        return (query @ keys.mT).float()
    return (query.flatten(1, 2) @ keys.mT).reshape(*query.shape[:3], -1).float()


def _mix(weights: Tensor, keys: Tensor) -> Tensor:
    """Weights `[B, R, H, K]` times keys: `[B, R, H, d]`."""
    if keys.dim() == 4:
        return weights @ keys
    return (weights.flatten(1, 2) @ keys).reshape(*weights.shape[:3], -1)
