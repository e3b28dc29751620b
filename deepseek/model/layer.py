"""A decoder layer: attention, then experts, each read off the streams and written back through mHC."""

import torch
from torch import Tensor, nn

from deepseek.config import LayerConfig, ModelConfig
from deepseek.model.attention import Attention
from deepseek.model.hyper import HyperConnection
from deepseek.model.moe import MoE
from deepseek.model.primitives import RMSNorm
from deepseek.model.rope import Rope
from deepseek.model.step import Step
from deepseek.state import LayerCache


class Layer(nn.Module):
    """Streams `[B, R, N, D]` in, streams out; its part of the state is updated in place."""

    def __init__(
        self, config: ModelConfig, layer: LayerConfig, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        super().__init__()
        self.attn_hc = HyperConnection(config, device)
        self.attn_norm = RMSNorm(config.hidden_size, config.rms_norm_eps, dtype, device)
        self.attn = Attention(config, layer, dtype, device)
        self.ffn_hc = HyperConnection(config, device)
        self.ffn_norm = RMSNorm(config.hidden_size, config.rms_norm_eps, dtype, device)
        self.ffn = MoE(config, layer, dtype, device)

    def forward(self, streams: Tensor, ids: Tensor, step: Step, rope: Rope, cache: LayerCache) -> Tensor:
        value, post, comb = self.attn_hc.read(streams)
        value = self.attn(self.attn_norm(value), step, rope, cache)
        streams = self.attn_hc.write(value, streams, post, comb)
        value, post, comb = self.ffn_hc.read(streams)
        value = self.ffn(self.ffn_norm(value), ids)
        return self.ffn_hc.write(value, streams, post, comb)
