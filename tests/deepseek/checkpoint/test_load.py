"""Whole checkpoints load in every layout; broken ones say what is broken."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from deepseek.checkpoint import CheckpointError, load_model
from deepseek.checkpoint import headers as headers_module
from deepseek.checkpoint import load as load_module
from tests.deepseek.checkpoint.copies import copy, edit_config, edit_tensors, shard
from tests.deepseek.references import PARITY, model

EMBED = "model.embed_tokens.weight"


def load(directory: Path) -> torch.nn.Module:
    return load_model(directory, capacity=1, context=32)


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    mine, theirs = one.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_released_names_load_the_same_weights() -> None:
    assert same(load(PARITY / "b" / "release"), load(PARITY / "b"))


def test_shards_load_the_same_weights(tmp_path: Path) -> None:
    directory = copy("only_csa", tmp_path)
    shard(directory)
    assert same(load(directory), model("only_csa"))


def test_narrow_weights_are_widened_and_wide_ones_narrowed(tmp_path: Path) -> None:
    directory = copy("only_swa", tmp_path)
    edit_tensors(directory, lambda tensors: tensors.update({EMBED: tensors[EMBED].bfloat16()}))
    assert load(directory).get_parameter("embed.weight").dtype == torch.float32
    narrow = load_model(directory, capacity=1, context=32, dtype=torch.bfloat16)
    assert narrow.layers[0].attn.wq_a.weight.dtype == torch.bfloat16
    assert narrow.layers[0].attn_hc.fn.dtype == torch.float32


def test_derived_tensors_are_passed_over(tmp_path: Path) -> None:
    directory = copy("only_swa", tmp_path)
    edit_tensors(directory, lambda tensors: tensors.update({"model.rotary_emb.main_inv_freq": torch.ones(4)}))
    load(directory)


BREAKS: dict[str, tuple[Callable[[dict[str, Tensor]], object], str]] = {
    "missing": (lambda t: t.pop(EMBED), f"tensor {EMBED} is missing"),
    "missing expert stack": (
        lambda t: t.pop("model.layers.0.mlp.experts.down_proj"),
        r"tensor model\.layers\.0\.mlp\.experts\.down_proj is missing",
    ),
    "wrong shape": (
        lambda t: t.update({EMBED: torch.zeros(3, 128)}),
        rf"model\.safetensors: tensor {EMBED} has shape \[3, 128\], config\.json asks for \[512, 128\]",
    ),
    "wrong type": (lambda t: t.update({EMBED: torch.zeros(512, 128).int()}), f"tensor {EMBED} has type I32"),
    "quantised": (
        lambda t: t.update({EMBED: torch.zeros(512, 128, dtype=torch.float8_e4m3fn)}),
        r"is quantised \(F8_E4M3\); quantised checkpoints are not supported yet",
    ),
    "unknown": (
        lambda t: t.update({"model.layers.0.extra": torch.zeros(1)}),
        r"tensor model\.layers\.0\.extra has no",
    ),
    "layer too many": (
        lambda t: t.update({"model.layers.2.self_attn.sinks": torch.zeros(4)}),
        r"tensor model\.layers\.2\.self_attn\.sinks has no place",
    ),
    "unknown expert": (
        lambda t: t.update({"model.layers.0.mlp.gate.tid2eid": torch.full((512, 2), 8)}),
        "names expert 8 of 8",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_tensor_that_does_not_fit_is_named(tmp_path: Path, name: str) -> None:
    change, message = BREAKS[name]
    directory = copy("only_swa", tmp_path)
    edit_tensors(directory, change)
    with pytest.raises(CheckpointError, match=message):
        load(directory)


def test_layer_of_another_kind_is_named(tmp_path: Path) -> None:
    directory = copy("only_hca", tmp_path)
    edit_config(directory, layer_types=["heavily_compressed_attention", "sliding_attention"])
    with pytest.raises(CheckpointError, match=r"layers\.1\.self_attn\.compressor\..* has no place"):
        load(directory)


def test_wrong_rate_is_named(tmp_path: Path) -> None:
    directory = copy("only_hca", tmp_path)
    edit_config(directory, compress_rates={"heavily_compressed_attention": 9})
    with pytest.raises(
        CheckpointError, match=r"position_bias has shape \[8, 32\], config\.json asks for \[9, 32\]"
    ):
        load(directory)


@pytest.mark.parametrize("size", [0, 4, 100, 20_000, 1_000_000])
def test_file_cut_short_is_named(tmp_path: Path, size: int) -> None:
    directory = copy("only_swa", tmp_path)
    with (directory / "model.safetensors").open("r+b") as file:
        file.truncate(size)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: is (cut short|not a safetensors file)"):
        load(directory)


def test_file_of_another_format_is_named(tmp_path: Path) -> None:
    directory = copy("only_swa", tmp_path)
    (directory / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0" + b"not json at all!")
    with pytest.raises(CheckpointError, match=r"model\.safetensors: is not a safetensors file"):
        load(directory)


@pytest.mark.parametrize("header", [b"[" * 100_000, b'{"a": NaN}', b'{"a": {"data_offsets": [0, 1e999]}}'])
def test_header_that_is_no_sound_json_is_named(tmp_path: Path, header: bytes) -> None:
    directory = copy("only_swa", tmp_path)
    (directory / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: is not a safetensors file"):
        load(directory)


@pytest.mark.parametrize("shard", ["/etc/passwd", "../..", "../a", "deep/../../a", "", ".", "a\0b"])
def test_index_that_points_out_of_the_folder_is_refused_unopened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard: str
) -> None:
    directory = copy("only_swa", tmp_path)
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {EMBED: shard}}))
    monkeypatch.setattr(headers_module, "_read_file", None)
    with pytest.raises(CheckpointError, match=rf"index\.json: places tensor {EMBED} in .*folder") as refusal:
        load(directory)
    assert repr(shard) in str(refusal.value)


def test_shards_that_are_links_into_a_cache_load(tmp_path: Path) -> None:
    directory = copy("only_csa", tmp_path / "snapshot")
    shard(directory)
    for file in sorted(directory.glob("*.safetensors")):
        file.symlink_to(file.rename(tmp_path / file.name))
    assert same(load(directory), model("only_csa"))


def test_the_largest_sizes_that_a_configuration_may_have_are_compared_with_the_tensors(
    tmp_path: Path,
) -> None:
    directory = copy("only_csa", tmp_path)
    heads = dict.fromkeys(("num_attention_heads", "index_n_heads", "n_routed_experts"), 1 << 14)
    widths = dict.fromkeys(("hidden_size", "head_dim", "q_lora_rank", "o_lora_rank"), 1 << 20)
    more = {"moe_intermediate_size": 1 << 20, "index_head_dim": 1 << 20, "n_shared_experts": 1 << 14}
    edit_config(directory, **heads, **widths, **more, vocab_size=1 << 24, hc_mult=64)
    with pytest.raises(CheckpointError, match=r"config\.json asks for"):
        load(directory)


def test_missing_shard_is_named(tmp_path: Path) -> None:
    directory = copy("only_swa", tmp_path)
    shard(directory)
    (directory / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(
        CheckpointError, match=r"model-00002-of-00002\.safetensors: is named by .* does not exist"
    ):
        load(directory)


def test_index_that_misplaces_a_tensor_is_named(tmp_path: Path) -> None:
    directory = copy("only_swa", tmp_path)
    shard(directory)
    index = directory / "model.safetensors.index.json"
    index.write_text(index.read_text().replace('"lm_head.weight"', '"lm_head.wait"'))
    with pytest.raises(CheckpointError, match=r"lacks tensor lm_head\.wait"):
        load(directory)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"weight_map": 3}', "[" * 100_000])
def test_broken_index_is_named(tmp_path: Path, content: str) -> None:
    directory = copy("only_swa", tmp_path)
    (directory / "model.safetensors.index.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"index\.json: is not an index"):
        load(directory)


def test_directory_without_weights_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="holds neither model"):
        load(tmp_path / "nowhere")


def test_model_that_does_not_fit_is_refused_before_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "available_memory", lambda device: 1000)
    monkeypatch.setattr(load_module, "_fill", None)
    with pytest.raises(CheckpointError, match=r"needs 2\.6 MiB for weights and .* 1000 bytes are available"):
        load(PARITY / "only_swa")


@pytest.mark.parametrize(
    "error", [MemoryError("no memory"), RuntimeError("DefaultCPUAllocator: can't allocate memory\nmore")]
)
def test_weights_that_cannot_be_allocated_are_no_bug_of_ours(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A limit of the process, for one: the machine has memory enough, and is asked for that before."""

    def full(weights: object) -> None:
        raise error

    monkeypatch.setattr(load_module, "join", full)
    with pytest.raises(
        CheckpointError, match=r"weights cannot be allocated on cpu \(.*memory\)\. Free memory"
    ):
        load(PARITY / "only_swa")
