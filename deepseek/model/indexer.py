"""The lightning indexer: picks the compressed entries that each query of a CSA layer attends to."""

import torch
from torch import Tensor, nn

from deepseek.config import ModelConfig
from deepseek.model.compressor import Compressor
from deepseek.model.primitives import Linear, split
from deepseek.model.rope import Rope, rotate
from deepseek.model.step import Step


class Indexer(nn.Module):
    """Scores entry w for query t as `sum_h weight[t,h] * relu(q[t,h] . key[w])`; keeps `index_topk`."""

    def __init__(
        self, config: ModelConfig, rate: int, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        super().__init__()
        self.heads, self.dim, self.topk = config.index_n_heads, config.index_head_dim, config.index_topk
        self.rate = rate
        self.wq_b = Linear(config.q_lora_rank, self.heads * self.dim, dtype, device)
        self.weights_proj = Linear(config.hidden_size, self.heads, dtype, device)
        self.compressor = Compressor(config, self.dim, rate, True, dtype, device)

    def forward(
        self, x: Tensor, low_rank: Tensor, step: Step, rope: Rope, raw: Tensor, keys: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Update the indexer's keys, then choose.

        Args:
            x: [B, R, D] the attention's input.
            low_rank: [B, R, q_lora_rank] the query's normed low-rank form.
            raw: [rows, ring, 2, 2 * dim] compressor inputs, updated.
            keys: [pages, per, dim] compressed keys, updated.

        Returns:
            Picked entries [B, R, K] and whether each pick is visible [B, R, K]; K is index_topk, or as many as
            there may be. The order of picks means nothing.
        """
        self.compressor(x, step, rope, raw, keys)
        entries = step.entries(self.rate, keys.shape[1])
        cos, sin = rope(step.t)
        query = split(self.wq_b(low_rank), self.heads, self.dim)
        query = rotate(query, cos.unsqueeze(2), sin.unsqueeze(2))
        weight = self.weights_proj(x).float() * (self.heads * self.dim) ** -0.5
        dots = query.flatten(1, 2) @ entries.read(keys).mT
        dots = dots.reshape(*query.shape[:3], -1).float().relu()
        score = (weight.unsqueeze(2) @ dots).squeeze(2).masked_fill(~entries.visible, -torch.inf)
        picks = score.topk(min(self.topk, score.shape[2]), sorted=False).indices
        return picks, entries.visible.gather(2, picks)
