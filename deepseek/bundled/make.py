"""Writes the bundled checkpoint: `python -m deepseek.bundled.make [DIRECTORY]`.

The network is tiny and random, but whole: sliding, CSA and HCA layers, routing by id and by score, four
residual streams, a multi-token-prediction block. Sub-blocks write little enough to the streams that the
embedding of the last token stays audible, so that drafts can be right; and enough that greedy output does not
fall into a cycle.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import save

from deepseek.bundled import PATH
from deepseek.checkpoint.config_json import read_config
from deepseek.checkpoint.names import sources
from deepseek.config import ModelConfig
from deepseek.model import Model
from deepseek.model.layer import Layer

Array = NDArray[np.float32] | NDArray[np.int64]

SEED = 9
OFFSET = 2
"""Token id of byte 0; bos and eos come before."""
LAYERS = ("sliding", "compressed_sparse", "heavily_compressed", "compressed_sparse")

CONFIG = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "model_type": "deepseek_v4",
    "torch_dtype": "float32",
    "vocab_size": OFFSET + 256,
    "hidden_size": 64,
    "moe_intermediate_size": 32,
    "num_hidden_layers": len(LAYERS),
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "q_lora_rank": 32,
    "num_experts_per_tok": 2,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "routed_scaling_factor": 1.5,
    "swiglu_limit": 10.0,
    "scoring_func": "sqrtsoftplus",
    "norm_topk_prob": True,
    "layer_types": [f"{kind}_attention" for kind in LAYERS],
    "mlp_layer_types": ["hash_moe", "hash_moe", "moe", "moe"],
    "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 16},
    "sliding_window": 32,
    "o_groups": 2,
    "o_lora_rank": 16,
    "index_n_heads": 12,
    "index_head_dim": 16,
    "index_topk": 8,
    "hc_mult": 4,
    "hc_sinkhorn_iters": 20,
    "hc_eps": 1e-06,
    "rms_norm_eps": 1e-06,
    "hidden_act": "silu",
    "attention_bias": False,
    "tie_word_embeddings": False,
    "max_position_embeddings": 4096,
    "num_nextn_predict_layers": 1,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "rope_theta": 10000.0,
    "compress_rope_theta": 160000.0,
    "partial_rotary_factor": 0.25,
    "rope_parameters": {
        "main": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
        "compress": {
            "rope_type": "yarn",
            "rope_theta": 160000.0,
            "partial_rotary_factor": 0.25,
            "attention_factor": 1.0,
            "factor": 4.0,
            "original_max_position_embeddings": 1024,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
        },
    },
}
TOKENIZER = {"tokenizer_class": "ByteTokenizer", "bos_token_id": 0, "eos_token_id": 1, "byte_offset": OFFSET}

WRITES = {"wo_b.weight": 0.27, "experts.down": 0.36, "shared.w2.weight": 0.18}
"""Gain of the matrices that write to the streams; every other matrix has gain 1."""
QUIET = 0.2
"""What the prediction block's are multiplied by."""


def main(arguments: list[str]) -> None:
    """Write config.json, tokenizer_config.json and model.safetensors to a directory, by default this one."""
    directory = Path(arguments[0]) if arguments else PATH
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in (("config.json", CONFIG), ("tokenizer_config.json", TOKENIZER)):
        (directory / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    stored = save(tensors(read_config(directory)), metadata={"format": "pt"})
    (directory / "model.safetensors").write_bytes(stored)


def tensors(config: ModelConfig) -> dict[str, Array]:
    """All tensors by stored name: transformers' names, and released ones for the prediction block."""
    # RandomState's streams are frozen for good, those of numpy's newer generators are not.
    random = np.random.RandomState(SEED)
    stored: dict[str, Array] = {}
    for name, shape in _shapes(Model(config, device="meta")).items():
        stored[sources(name, 0).transformers.names[0]] = _draw(random, name, shape, config)
    return stored | _prediction(random, config, stored)


def _prediction(
    random: np.random.RandomState, config: ModelConfig, main: dict[str, Array]
) -> dict[str, Array]:
    """The prediction block; it drafts well because it ends like the main model and writes little before."""
    layer = config.layers[0].model_copy(update={"hash_routed": False})
    stored: dict[str, Array] = {}
    for name, shape in _shapes(Layer(config, layer, torch.float32, "meta")).items():
        value = _draw(random, name, shape, config)
        if name.endswith(tuple(WRITES)):
            value = (value * QUIET).astype(np.float32)
        source = sources(f"layers.0.{name}", config.n_routed_experts).released
        if source.single:
            stored[source.single] = value
        for expert, parts in enumerate(source.stacked):
            for part, half in zip(parts, np.split(value[expert], len(parts)), strict=True):
                stored[part] = np.ascontiguousarray(half)
    stored = {name.replace("layers.0.", "mtp.0.", 1): value for name, value in stored.items()}
    size = config.hidden_size
    for name in ("enorm.weight", "hnorm.weight"):
        stored[f"mtp.0.{name}"] = _draw(random, name, (size,), config)
    stored["mtp.0.e_proj.weight"] = np.eye(size, dtype=np.float32)
    stored["mtp.0.h_proj.weight"] = _normal(random, (size, size), 0.1 / size**0.5)
    stored["mtp.0.norm.weight"] = main["model.norm.weight"]
    for part in ("fn", "base", "scale"):
        stored[f"mtp.0.hc_head_{part}"] = main[f"model.hc_head.hc_{part}"]
    return stored


def _draw(random: np.random.RandomState, name: str, shape: tuple[int, ...], config: ModelConfig) -> Array:
    """A parameter by its name in `deepseek.model.Model`."""
    last = name.rsplit(".", 1)[-1]
    if last == "tid2eid":
        rows = [random.permutation(config.n_routed_experts)[: shape[1]] for _ in range(shape[0])]
        return np.stack(rows).astype(np.int64)
    if name == "embed.weight":
        return _normal(random, shape, 1.0)
    if last in ("base", "bias", "ape", "sink"):
        return _normal(random, shape, 0.3)
    if last == "scale" or "norm." in name:
        return 1 + _normal(random, shape, 0.1)
    gain = next((gain for end, gain in WRITES.items() if name.endswith(end)), 1.0)
    value = _normal(random, shape, gain / shape[-1] ** 0.5)
    return value * _printable(shape[0]) if name == "head.weight" else value


def _printable(count: int) -> NDArray[np.float32]:
    """Column that keeps other bytes than printable ASCII (and bos, eos) out of greedy output."""
    byte = np.arange(count) - OFFSET
    return np.where((byte >= 32) & (byte < 127), 3.0, 0.5).astype(np.float32)[:, None]


def _normal(random: np.random.RandomState, shape: tuple[int, ...], scale: float) -> NDArray[np.float32]:
    return (random.standard_normal(shape) * scale).astype(np.float32)


def _shapes(module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


if __name__ == "__main__":
    main(sys.argv[1:])
