"""The bundled checkpoint: small, whole, and what its training log says it is."""

import hashlib
import json

import torch
from safetensors.torch import load_file

from deepseek.bundled import PATH
from deepseek.bundled.schedule import Settings
from deepseek.checkpoint import load_model, read_config
from deepseek.checkpoint.names import sources
from deepseek.config import AttentionKind
from deepseek.model import Model

WEIGHTS = PATH / "model.safetensors"
LOG = json.loads((PATH / "training.json").read_text(encoding="utf-8"))


def test_it_loads_without_its_block() -> None:
    assert load_model(PATH, capacity=1, context=16).mtp is None


def test_it_loads_with_its_block() -> None:
    model = load_model(PATH, capacity=1, context=16, rows_per_step=2)
    assert model.mtp is not None
    assert len(model.mtp) == 1
    assert sum(value.numel() for value in model.parameters()) == LOG["parameters"]


def test_every_kind_of_layer_and_router_is_there() -> None:
    config = load_model(PATH, capacity=1, context=16).config
    assert {layer.kind for layer in config.layers} == set(AttentionKind)
    assert {layer.hash_routed for layer in config.layers} == {True, False}
    assert config.hc_mult > 1
    assert config.num_nextn_predict_layers == 1


def test_it_is_small() -> None:
    assert WEIGHTS.stat().st_size < 6e6


def test_what_the_network_keeps_in_float32_is_stored_in_float32() -> None:
    stored = load_file(WEIGHTS)
    model = Model(read_config(PATH), predicts=True, dtype=torch.bfloat16, device="meta")
    for name, parameter in model.named_parameters():
        kinds = {stored[part].dtype for part in sources(name, 8).transformers.names}
        assert kinds == {parameter.dtype} or parameter.dim() == 1, name


def test_the_log_is_of_these_weights() -> None:
    assert hashlib.sha256(WEIGHTS.read_bytes()).hexdigest() == LOG["weights_sha256"]


def test_the_script_would_train_it_the_same_way() -> None:
    assert LOG["settings"] == vars(Settings())


def test_training_reached_every_expert() -> None:
    model = load_model(PATH, capacity=1, context=16, rows_per_step=2)
    for name, value in model.named_parameters():
        if name.endswith("experts.down"):
            norms = value.flatten(1).norm(dim=1)
            assert norms.min() > norms.max() / 3, name
