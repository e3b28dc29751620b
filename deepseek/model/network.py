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
from deepseek.model.prediction import Prediction
from deepseek.model.primitives import Linear, RMSNorm, parameter
from deepseek.model.rope import Rope
from deepseek.model.step import Spans, Step
from deepseek.state import Caches


class Model(nn.Module):
    """DeepSeek-V4 without weights; `deepseek.checkpoint.load_model` fills them in.

    With `predicts` it has its multi-token-prediction block, too.

    Routers, hyper-connections, compressors, sinks and softmaxes stay float32 whatever `dtype` is.

    On CPU a matrix product takes another kernel below four rows, so its last bits depend on the batch; pad
    decode batches to at least four requests where runs with different batches must agree bit for bit.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        predicts: bool = False,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
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
        self.mtp = nn.ModuleList([Prediction(config, dtype, device)]) if predicts else None
        self.rope = Rope(rope_dim, config.rope_theta, None, device)
        self.compress_rope = Rope(rope_dim, config.compress_rope_theta, config.yarn, device)

    def forward(self, ids: Tensor, spans: Spans, caches: Caches) -> Tensor:
        """Logits `[B, V]` float32 of each request's last valid row; arguments as for `streams`."""
        return self.logits(spans.last(self.streams(ids, spans, caches)))

    def streams(self, ids: Tensor, spans: Spans, caches: Caches) -> Tensor:
        """Residual streams `[B, R, N, D]` after the last layer; the caches are updated in place.

        Args:
            ids: [B, R] int64 token ids; padding may hold any valid id.
            spans: where the rows stand. The positions before them must have been run already.
            caches: the state; a request may not grow past `caches.context`.
        """
        step = Step(spans, ids.shape[1], caches)
        streams: Tensor = self.embed(ids).unsqueeze(2).expand(-1, -1, self.config.hc_mult, -1)
        for layer, spec, cache in zip(self.layers, self.config.layers, caches.layers, strict=True):
            rope = self.rope if spec.kind is AttentionKind.SLIDING else self.compress_rope
            streams = layer(streams, ids, step, rope, cache)
        return streams

    def predict(self, streams: Tensor, following: Tensor, spans: Spans, caches: Caches) -> Tensor:
        """The prediction block's streams `[B, R, N, D]`; its cache is updated in place.

        Args:
            streams: [B, R, N, D] of the main model at each row, or the block's own at the row before, for a
                further draft.
            following: [B, R] int64, the token after each row.
            spans: where the rows stand; the block has positions of its own cache, run one after another too.
            caches: the state.
        """
        assert caches.prediction is not None, "the caches were made for steps without drafts"
        step = Step(spans, following.shape[1], caches)
        embedded = self.embed(following)
        return self._prediction.predict(streams, embedded, following, step, self.rope, caches.prediction)

    def logits(self, streams: Tensor) -> Tensor:
        """Streams `[..., N, D]` to logits `[..., V]` float32."""
        logits: Tensor = self.head(self.norm(self.hc_head(streams)))
        return logits.float()

    def predicted_logits(self, streams: Tensor) -> Tensor:
        """Streams `[..., N, D]` of the prediction block to logits `[..., V]` float32 of the token after the next."""
        logits: Tensor = self.head(self._prediction.collapse(streams))
        return logits.float()

    @property
    def _prediction(self) -> Prediction:
        assert self.mtp is not None, "the model was made without its prediction block"
        block = self.mtp[0]
        assert isinstance(block, Prediction)
        return block


class Embedding(nn.Module):
    """Token embedding `weight: [V, D]`."""

    def __init__(self, count: int, size: int, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__()
        self.weight = parameter(count, size, dtype=dtype, device=device)

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight)
