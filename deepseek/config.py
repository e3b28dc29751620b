"""What a DeepSeek-V4 network is made of, independent of how a checkpoint spells it.

A `ModelConfig` that exists is consistent: every size divides what it must, every layer has a kind and a rate.
Every number is of its own type (no booleans, no text), finite, and of a size that a network can have.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_LAYERS = 4096
WIDEST = 2**20

# Far above any published network, and low enough that no tensor's byte count overflows 64 bits.
Count = Annotated[int, Field(strict=True, ge=1, le=2**14)]
Width = Annotated[int, Field(strict=True, ge=1, le=WIDEST)]
Length = Annotated[int, Field(strict=True, ge=1, le=2**30)]
TokenId = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
PositiveReal = Annotated[Real, Field(gt=0)]


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
    rate: Annotated[int, Field(strict=True, le=2**20)]
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

    factor: PositiveReal
    original_max_position_embeddings: Length
    beta_fast: PositiveReal = 32.0
    beta_slow: PositiveReal = 1.0


class ModelConfig(_Frozen):
    """Sizes and constants of a DeepSeek-V4 network, under the names of the released configuration."""

    vocab_size: Annotated[int, Field(strict=True, ge=1, le=2**24)]
    hidden_size: Width
    num_attention_heads: Count
    head_dim: Width
    qk_rope_head_dim: Width
    q_lora_rank: Width
    o_groups: Count
    o_lora_rank: Width
    sliding_window: Width
    index_n_heads: Count
    index_head_dim: Width
    index_topk: Length
    n_routed_experts: Count
    num_experts_per_tok: Count
    n_shared_experts: Count
    moe_intermediate_size: Width
    routed_scaling_factor: Real
    swiglu_limit: PositiveReal
    hc_mult: Annotated[int, Field(strict=True, ge=1, le=64)]
    hc_sinkhorn_iters: Annotated[int, Field(strict=True, ge=1, le=1000)]
    hc_eps: PositiveReal
    rms_norm_eps: PositiveReal
    rope_theta: PositiveReal
    compress_rope_theta: PositiveReal
    yarn: Yarn | None
    """Applies to CSA and HCA layers only."""
    max_position_embeddings: Length
    num_nextn_predict_layers: Annotated[int, Field(strict=True, ge=0, le=MOST_LAYERS)]
    """Multi-token-prediction blocks in the checkpoint."""
    bos_token_id: TokenId
    eos_token_ids: tuple[TokenId, ...]
    layers: Annotated[tuple[LayerConfig, ...], Field(max_length=MOST_LAYERS)]

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
