"""Fresh random configurations, run by transformers and stored for our loader under either kind of names."""

import json
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import DeepseekV4Config, DeepseekV4ForCausalLM

from deepseek.checkpoint.config_json import read_config
from deepseek.checkpoint.names import sources
from deepseek.model import Model

KINDS = ("sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention")


def random_fields(seed: int) -> dict[str, Any]:
    """A config.json in transformers' form. Few index heads would tie exactly, so there are 12 at least."""
    draw = Random(seed)
    layers = draw.randint(2, 5)
    groups = draw.choice([1, 2, 3])
    head_dim = draw.choice([16, 24, 32])
    rope_dim = draw.choice([4, 8])
    experts = draw.randint(4, 9)
    hashed = draw.randint(0, layers)
    yarn = {
        "rope_type": "yarn",
        "attention_factor": 1.0,
        "factor": draw.choice([4.0, 16.0]),
        "original_max_position_embeddings": draw.choice([32, 64, 4096]),
        "beta_fast": 32.0,
        "beta_slow": 1.0,
    }
    part = {"partial_rotary_factor": rope_dim / head_dim}
    scaling = yarn if draw.random() < 0.6 else {"rope_type": "default"}
    return {
        "architectures": ["DeepseekV4ForCausalLM"],
        "model_type": "deepseek_v4",
        "vocab_size": draw.choice([97, 256, 300]),
        "hidden_size": draw.choice([48, 64, 80]),
        "moe_intermediate_size": draw.choice([24, 32, 42]),
        "num_hidden_layers": layers,
        "num_attention_heads": groups * draw.randint(1, 3),
        "num_key_value_heads": 1,
        "head_dim": head_dim,
        "q_lora_rank": draw.choice([20, 32]),
        "num_experts_per_tok": draw.randint(1, 4),
        "n_routed_experts": experts,
        "n_shared_experts": 1,
        "routed_scaling_factor": draw.choice([1.0, 1.5, 2.5]),
        "swiglu_limit": draw.choice([1.0, 10.0]),
        "layer_types": [draw.choice(KINDS) for _ in range(layers)],
        "mlp_layer_types": ["hash_moe"] * hashed + ["moe"] * (layers - hashed),
        "compress_rates": {KINDS[1]: draw.choice([2, 4, 5]), KINDS[2]: draw.choice([3, 8, 16])},
        "sliding_window": draw.choice([5, 12, 31]),
        "o_groups": groups,
        "o_lora_rank": draw.choice([8, 20]),
        "index_n_heads": draw.randint(12, 20),
        "index_head_dim": draw.choice([8, 16]),
        "index_topk": draw.choice([2, 4, 7]),
        "hc_mult": draw.choice([1, 2, 3, 4]),
        "hc_sinkhorn_iters": draw.choice([3, 20]),
        "hc_eps": 1e-6,
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 4096,
        "num_nextn_predict_layers": 0,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "rope_theta": 10000.0,
        "compress_rope_theta": 160000.0,
        **part,
        "rope_parameters": {
            "main": {"rope_type": "default", "rope_theta": 10000.0, **part},
            "compress": {**scaling, "rope_theta": 160000.0, **part},
        },
    }


def random_transformer(fields: dict[str, Any], seed: int) -> DeepseekV4ForCausalLM:
    """transformers' network with weights that make every part matter."""
    config = DeepseekV4Config(**json.loads(json.dumps(fields)), attn_implementation="eager")
    config._experts_implementation = "eager"
    network = DeepseekV4ForCausalLM(config).eval()
    draw = torch.Generator().manual_seed(seed)
    for name, tensor in network.state_dict().items():
        last = name.rsplit(".", 1)[-1]
        if last == "tid2eid":
            rows = [torch.randperm(config.n_routed_experts, generator=draw) for _ in range(len(tensor))]
            tensor.copy_(torch.stack(rows)[:, : tensor.shape[1]])
            continue
        noise = torch.randn(tensor.shape, generator=draw)
        if name == "model.embed_tokens.weight":
            tensor.copy_(noise)
        elif tensor.dim() > 1 and last != "position_bias":
            tensor.copy_(noise * tensor.shape[-1] ** -0.5 * 1.5)
        else:
            tensor.copy_(noise * 0.3 + ("norm" in name or last.endswith("scale")))
    return network


def store(directory: Path, fields: dict[str, Any], weights: dict[str, Tensor], *, released: bool) -> None:
    """Write a checkpoint; `weights` go by transformers' names, the files by those or by the released ones."""
    (directory / "config.json").write_text(json.dumps(fields))
    if not released:
        save_file(weights, directory / "model.safetensors")
        return
    config, stored = read_config(directory), {}
    for name in Model(config, device="meta").state_dict():
        spellings = sources(name, config.n_routed_experts)
        value = weights[spellings.transformers.names[0]]
        if spellings.released.single:
            stored[spellings.released.single] = value
        for expert, parts in enumerate(spellings.released.stacked):
            for part, half in zip(parts, value[expert].chunk(len(parts)), strict=True):
                stored[part] = half.contiguous()
    save_file(stored, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(released_fields(fields)))


def released_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The same configuration in the released form; the ratios end with a prediction block's entry."""
    rates = fields["compress_rates"] | {KINDS[0]: 0}
    rope = fields["rope_parameters"]["compress"]
    rest = {name: value for name, value in fields.items() if name not in TRANSFORMERS_ONLY}
    return rest | {
        "num_nextn_predict_layers": 1,
        "compress_ratios": [*(rates[kind] for kind in fields["layer_types"]), 0],
        "num_hash_layers": fields["mlp_layer_types"].count("hash_moe"),
        "qk_rope_head_dim": round(fields["partial_rotary_factor"] * fields["head_dim"]),
        "rope_scaling": {"type": rope["rope_type"], **rope} if rope["rope_type"] == "yarn" else None,
    }


TRANSFORMERS_ONLY = {
    "layer_types",
    "mlp_layer_types",
    "compress_rates",
    "partial_rotary_factor",
    "rope_parameters",
}
