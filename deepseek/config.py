"""What a DeepSeek-V4 network is made of, independent of how a checkpoint spells it.

A `ModelConfig` that exists is consistent: every size divides what it must, every layer has a kind and a rate.
"""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt, model_validator


class AttentionKind(StrEnum):
    """What a layer attends to besides its sliding window."""

    SLIDING = "sliding_attention"
    """Nothing else."""
    CSA = "compressed_sparse_attention"
    """Compressed entries of overlapping windows, chosen per query by the lightning indexer."""
    HCA = "heavily_compressed_attention"
    """All compressed entries of disjoint windows."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LayerConfig(_Frozen):
    """One decoder layer."""

    kind: AttentionKind
    rate: int
    """Tokens per compressed entry; 0 for a sliding layer."""
    hash_routed: bool
    """Experts are looked up by token id instead of scored."""

    @model_validator(mode="after")
    def _rate_fits_kind(self) -> Self:
        if (self.kind is AttentionKind.SLIDING) != (self.rate == 0) or self.rate < 0:
            raise ValueError(f"a {self.kind} layer cannot have compression rate {self.rate}")
        return self


class Yarn(_Frozen):
    """YaRN frequency blend (Peng et al. 2023, arXiv:2309.00071), without its magnitude factor."""

    factor: PositiveFloat
    original_max_position_embeddings: PositiveInt
    beta_fast: PositiveFloat = 32.0
    beta_slow: PositiveFloat = 1.0


class ModelConfig(_Frozen):
    """Sizes and constants of a DeepSeek-V4 network, under the names of the released configuration."""

    vocab_size: PositiveInt
    hidden_size: PositiveInt
    num_attention_heads: PositiveInt
    head_dim: PositiveInt
    qk_rope_head_dim: PositiveInt
    q_lora_rank: PositiveInt
    o_groups: PositiveInt
    o_lora_rank: PositiveInt
    sliding_window: PositiveInt
    index_n_heads: PositiveInt
    index_head_dim: PositiveInt
    index_topk: PositiveInt
    n_routed_experts: PositiveInt
    num_experts_per_tok: PositiveInt
    n_shared_experts: PositiveInt
    moe_intermediate_size: PositiveInt
    routed_scaling_factor: float
    swiglu_limit: PositiveFloat
    hc_mult: PositiveInt
    hc_sinkhorn_iters: PositiveInt
    hc_eps: PositiveFloat
    rms_norm_eps: PositiveFloat
    rope_theta: PositiveFloat
    compress_rope_theta: PositiveFloat
    yarn: Yarn | None
    """Applies to CSA and HCA layers only."""
    max_position_embeddings: PositiveInt
    num_nextn_predict_layers: int
    """Multi-token-prediction blocks in the checkpoint."""
    bos_token_id: int
    eos_token_ids: tuple[int, ...]
    layers: tuple[LayerConfig, ...]

    @property
    def num_hidden_layers(self) -> int:
        """Decoder layers, not counting multi-token prediction."""
        return len(self.layers)

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if not self.layers:
            raise ValueError("the model has no layers")
        if self.qk_rope_head_dim % 2 or self.qk_rope_head_dim > self.head_dim:
            raise ValueError(
                f"qk_rope_head_dim ({self.qk_rope_head_dim}) must be even and "
                f"at most head_dim ({self.head_dim})"
            )
        if self.num_attention_heads % self.o_groups:
            raise ValueError(
                f"o_groups ({self.o_groups}) must divide num_attention_heads ({self.num_attention_heads})"
            )
        if self.num_experts_per_tok > self.n_routed_experts:
            raise ValueError(
                f"num_experts_per_tok ({self.num_experts_per_tok}) exceeds "
                f"n_routed_experts ({self.n_routed_experts})"
            )
        sparse = any(layer.kind is AttentionKind.CSA for layer in self.layers)
        if sparse and self.index_head_dim < self.qk_rope_head_dim:
            raise ValueError(
                f"index_head_dim ({self.index_head_dim}) must be at least "
                f"qk_rope_head_dim ({self.qk_rope_head_dim})"
            )
        return self
