"""Where each parameter of the network is found, under the released names and under transformers'."""

from dataclasses import dataclass

_TOP = {
    "embed.weight": ("embed.weight", "model.embed_tokens.weight"),
    "head.weight": ("head.weight", "lm_head.weight"),
    "norm.weight": ("norm.weight", "model.norm.weight"),
    "hc_head.fn": ("hc_head_fn", "model.hc_head.hc_fn"),
    "hc_head.base": ("hc_head_base", "model.hc_head.hc_base"),
    "hc_head.scale": ("hc_head_scale", "model.hc_head.hc_scale"),
}

_IN_LAYER = {
    "attn_norm.weight": ("attn_norm.weight", "input_layernorm.weight"),
    "ffn_norm.weight": ("ffn_norm.weight", "post_attention_layernorm.weight"),
    **{f"attn_hc.{part}": (f"hc_attn_{part}", f"attn_hc.{part}") for part in ("fn", "base", "scale")},
    **{f"ffn_hc.{part}": (f"hc_ffn_{part}", f"ffn_hc.{part}") for part in ("fn", "base", "scale")},
    "attn.sink": ("attn.attn_sink", "self_attn.sinks"),
    "attn.wq_a.weight": ("attn.wq_a.weight", "self_attn.q_a_proj.weight"),
    "attn.q_norm.weight": ("attn.q_norm.weight", "self_attn.q_a_norm.weight"),
    "attn.wq_b.weight": ("attn.wq_b.weight", "self_attn.q_b_proj.weight"),
    "attn.wkv.weight": ("attn.wkv.weight", "self_attn.kv_proj.weight"),
    "attn.kv_norm.weight": ("attn.kv_norm.weight", "self_attn.kv_norm.weight"),
    "attn.wo_a.weight": ("attn.wo_a.weight", "self_attn.o_a_proj.weight"),
    "attn.wo_b.weight": ("attn.wo_b.weight", "self_attn.o_b_proj.weight"),
    "attn.indexer.wq_b.weight": ("attn.indexer.wq_b.weight", "self_attn.compressor.indexer.q_b_proj.weight"),
    "attn.indexer.weights_proj.weight": (
        "attn.indexer.weights_proj.weight",
        "self_attn.compressor.indexer.scorer.weights_proj.weight",
    ),
    **{
        f"attn.{mine}.{part}": (f"attn.{mine}.{part}", f"self_attn.compressor.{theirs}{renamed}")
        for mine, theirs in (("compressor", ""), ("indexer.compressor", "indexer."))
        for part, renamed in (
            ("wkv.weight", "kv_proj.weight"),
            ("wgate.weight", "gate_proj.weight"),
            ("ape", "position_bias"),
            ("norm.weight", "kv_norm.weight"),
        )
    },
    "ffn.router.weight": ("ffn.gate.weight", "mlp.gate.weight"),
    "ffn.router.bias": ("ffn.gate.bias", "mlp.gate.e_score_correction_bias"),
    "ffn.router.tid2eid": ("ffn.gate.tid2eid", "mlp.gate.tid2eid"),
    "ffn.shared.w1.weight": ("ffn.shared_experts.w1.weight", "mlp.shared_experts.gate_proj.weight"),
    "ffn.shared.w2.weight": ("ffn.shared_experts.w2.weight", "mlp.shared_experts.down_proj.weight"),
    "ffn.shared.w3.weight": ("ffn.shared_experts.w3.weight", "mlp.shared_experts.up_proj.weight"),
}

_IN_PREDICTION = {
    **{f"{part}.weight": f"{part}.weight" for part in ("enorm", "hnorm", "norm", "e_proj", "h_proj")},
    **{f"hc_head.{part}": f"hc_head_{part}" for part in ("fn", "base", "scale")},
}

_STACKED = {
    "ffn.experts.gate_up": (("w1", "w3"), "mlp.experts.gate_up_proj"),
    "ffn.experts.down": (("w2",), "mlp.experts.down_proj"),
}


@dataclass(frozen=True)
class Source:
    """Stored tensors that make up one parameter: a single one, or per expert the parts to concatenate."""

    single: str | None = None
    stacked: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All stored names."""
        return (self.single,) if self.single else tuple(name for parts in self.stacked for name in parts)


@dataclass(frozen=True)
class Sources:
    """Both spellings of one parameter."""

    released: Source
    transformers: Source


def sources(parameter: str, experts: int) -> Sources:
    """Where to find a parameter of `deepseek.model.Model`, by its name there."""
    if parameter in _TOP:
        released, transformers = _TOP[parameter]
        return Sources(Source(released), Source(transformers))
    part, layer, name = parameter.split(".", 2)
    if part == "mtp":  # transformers has no names for it: checkpoints of either kind use the released ones
        source = _in_layer(f"mtp.{layer}.", name, experts)
        return Sources(source, source)
    transformers = _STACKED[name][1] if name in _STACKED else _IN_LAYER[name][1]
    return Sources(
        _in_layer(f"layers.{layer}.", name, experts), Source(f"model.layers.{layer}.{transformers}")
    )


def _in_layer(prefix: str, name: str, experts: int) -> Source:
    """The released names of a layer's or a prediction block's parameter."""
    if name in _STACKED:
        parts, _ = _STACKED[name]
        return Source(
            stacked=tuple(
                tuple(f"{prefix}ffn.experts.{expert}.{part}.weight" for part in parts)
                for expert in range(experts)
            )
        )
    return Source(prefix + (_IN_PREDICTION.get(name) or _IN_LAYER[name][0]))


def is_prediction(name: str) -> bool:
    """Whether a stored tensor belongs to a multi-token-prediction block."""
    return name.removeprefix("model.").startswith("mtp.")


def is_derived(name: str) -> bool:
    """Whether a stored tensor only repeats what the configuration already says."""
    return name.endswith("inv_freq")
