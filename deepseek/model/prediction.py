"""The multi-token-prediction block: drafts the token after the next one from the main model's streams."""

import torch
from torch import Tensor

from deepseek.config import AttentionKind, LayerConfig, ModelConfig
from deepseek.model.hyper import HyperHead
from deepseek.model.layer import Layer
from deepseek.model.primitives import Linear, RMSNorm
from deepseek.model.rope import Rope
from deepseek.model.step import Step
from deepseek.state import LayerCache

LAYER = LayerConfig(kind=AttentionKind.SLIDING, rate=0, hash_routed=False)
"""What the block is as a layer, in every model."""


class Prediction(Layer):
    """A sliding layer over `e_proj(norm(embedding of x[p+1])) + h_proj(norm(streams at p))`, for every stream.

    What it leaves on the streams predicts x[p+2], and is what a further draft is fed with in place of the main
    model's streams. Embedding and output head are the main model's; the head's norm and mix are its own.
    """

    def __init__(self, config: ModelConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__(config, LAYER, dtype, device)
        hidden, eps = config.hidden_size, config.rms_norm_eps
        self.enorm = RMSNorm(hidden, eps, dtype, device)
        self.hnorm = RMSNorm(hidden, eps, dtype, device)
        self.e_proj = Linear(hidden, hidden, dtype, device)
        self.h_proj = Linear(hidden, hidden, dtype, device)
        self.hc_head = HyperHead(config, device)
        self.norm = RMSNorm(hidden, eps, dtype, device)

    def predict(
        self, streams: Tensor, embedded: Tensor, ids: Tensor, step: Step, rope: Rope, cache: LayerCache
    ) -> Tensor:
        """Streams `[B, R, N, D]` at positions p with the next tokens (`ids [B, R]`, `embedded [B, R, D]`): streams."""
        mixed = self.e_proj(self.enorm(embedded)).unsqueeze(2) + self.h_proj(self.hnorm(streams))
        predicted: Tensor = self(mixed, ids, step, rope, cache)
        return predicted

    def collapse(self, streams: Tensor) -> Tensor:
        """Streams `[..., N, D]` to what the output head takes, `[..., D]`."""
        collapsed: Tensor = self.norm(self.hc_head(streams))
        return collapsed
