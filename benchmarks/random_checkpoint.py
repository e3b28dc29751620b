"""Writes the checkpoint that the decode benchmark measures: 67 million random parameters, transformers' layout."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import DeepseekV4Config, DeepseekV4ForCausalLM

SEED = 7
_KINDS = ("sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention")
CONFIG = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "model_type": "deepseek_v4",
    "torch_dtype": "float32",
    "vocab_size": 8192,
    "hidden_size": 512,
    "moe_intermediate_size": 256,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "q_lora_rank": 128,
    "num_experts_per_tok": 4,
    "n_routed_experts": 16,
    "n_shared_experts": 1,
    "routed_scaling_factor": 1.5,
    "swiglu_limit": 10.0,
    "layer_types": [_KINDS[0], *(_KINDS[1 + place % 2] for place in range(7))],
    "mlp_layer_types": ["hash_moe"] * 2 + ["moe"] * 6,
    "compress_rates": {_KINDS[1]: 4, _KINDS[2]: 32},
    "sliding_window": 64,
    "o_groups": 4,
    "o_lora_rank": 64,
    "index_n_heads": 16,
    "index_head_dim": 32,
    "index_topk": 32,
    "hc_mult": 4,
    "hc_sinkhorn_iters": 20,
    "hc_eps": 1e-6,
    "rms_norm_eps": 1e-6,
    "num_nextn_predict_layers": 0,
    "max_position_embeddings": 4096,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
    "rope_theta": 10000.0,
    "compress_rope_theta": 160000.0,
    "partial_rotary_factor": 0.25,
    "rope_parameters": {
        "main": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
        "compress": {"rope_type": "default", "rope_theta": 160000.0, "partial_rotary_factor": 0.25},
    },
}


def write(directory: Path) -> int:
    """Write config.json and the weights; returns the number of parameters."""
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    model = DeepseekV4ForCausalLM(DeepseekV4Config(**CONFIG))
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            _draw(name, tensor, generator)
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n", encoding="utf-8")
    return sum(parameter.numel() for parameter in model.parameters())


def _draw(name: str, tensor: torch.Tensor, generator: torch.Generator) -> None:
    """Fill one tensor so that activations stay of order one."""
    if not tensor.is_floating_point():
        if name.endswith("tid2eid"):
            scores = torch.rand(tensor.shape[0], CONFIG["n_routed_experts"], generator=generator)
            tensor.copy_(scores.argsort(-1)[:, : tensor.shape[1]])
    elif tensor.dim() == 1:
        tensor.normal_(1.0 if "norm" in name else 0.0, 0.1, generator=generator)
    else:
        tensor.normal_(0.0, tensor.shape[-1] ** -0.5, generator=generator)
