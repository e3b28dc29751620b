"""Both forms of config.json say the same; what cannot be run is refused by name."""

from pathlib import Path
from typing import Any

import pytest

from deepseek.checkpoint import CheckpointError, read_config
from deepseek.checkpoint.headers import read_headers
from deepseek.config import AttentionKind, ModelConfig, Yarn
from tests.deepseek.checkpoint.copies import copy, edit_config
from tests.deepseek.references import PARITY

CSA, HCA, SLIDING = AttentionKind.CSA, AttentionKind.HCA, AttentionKind.SLIDING


def test_both_forms_describe_the_same_network() -> None:
    assert read_config(PARITY / "b") == read_config(PARITY / "b" / "release")


def test_layers_carry_kind_and_rate_separately() -> None:
    layers = read_config(PARITY / "a").layers
    assert [layer.kind for layer in layers] == [SLIDING, SLIDING, CSA, HCA, CSA, HCA]
    assert [layer.rate for layer in layers] == [0, 0, 4, 8, 4, 8]
    assert [layer.hash_routed for layer in layers] == [True] * 3 + [False] * 3


def test_yarn_and_rope_sizes_are_read() -> None:
    config = read_config(PARITY / "a")
    assert config.qk_rope_head_dim == 8
    assert config.yarn == Yarn(factor=16, original_max_position_embeddings=64, beta_fast=32, beta_slow=1)
    assert read_config(PARITY / "b").yarn is None


def test_released_yarn_is_read(tmp_path: Path) -> None:
    directory = copy("b/release", tmp_path)
    edit_config(
        directory, rope_scaling={"type": "yarn", "factor": 16, "original_max_position_embeddings": 64}
    )
    assert read_config(directory).yarn == Yarn(factor=16, original_max_position_embeddings=64)


def test_released_form_without_tensors_takes_rate_4_for_csa(tmp_path: Path) -> None:
    directory = copy("b/release", tmp_path)
    edit_config(directory, compress_ratios=[4, 128, 0, 7, 0])
    assert [layer.kind for layer in read_config(directory).layers] == [CSA, HCA, SLIDING, HCA]


def test_tensors_overrule_the_convention_of_rate_4(tmp_path: Path) -> None:
    """In the released form a layer with an indexer is CSA whatever its rate."""
    directory = copy("b/release", tmp_path)
    headers = read_headers(directory)
    edit_config(directory, compress_ratios=[4, 16, 0, 16, 0])
    layers = read_config(directory, headers).layers
    assert [(layer.kind, layer.rate) for layer in layers] == [(HCA, 4), (CSA, 16), (SLIDING, 0), (CSA, 16)]


def test_compressor_and_indexer_that_disagree_are_named(tmp_path: Path) -> None:
    headers = read_headers(PARITY / "b" / "release")
    del headers["layers.1.attn.indexer.wq_b.weight"]
    with pytest.raises(CheckpointError, match="layer 1 has no indexer, but its compressor's ape is"):
        read_config(PARITY / "b" / "release", headers)


def test_ratios_may_leave_out_the_prediction_block(tmp_path: Path) -> None:
    directory = copy("b/release", tmp_path)
    edit_config(directory, compress_ratios=[16, 4, 0, 4])
    assert read_config(directory) == read_config(PARITY / "b")


def test_several_end_tokens_are_kept(tmp_path: Path) -> None:
    directory = copy("a", tmp_path)
    edit_config(directory, eos_token_id=[1, 7])
    assert read_config(directory).eos_token_ids == (1, 7)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("a", {"hidden_size": None}, "lacks hidden_size"),
        ("a", {"hidden_size": "wide"}, "hidden_size: "),
        ("a", {"hidden_size": 0}, "hidden_size: "),
        ("a", {"model_type": "deepseek_v3"}, "model_type is 'deepseek_v3'. Only 'deepseek_v4' is supported"),
        ("a", {"num_key_value_heads": 4}, "num_key_value_heads is 4"),
        ("a", {"scoring_func": "softmax"}, "scoring_func is 'softmax'"),
        ("a", {"tie_word_embeddings": True}, "tie_word_embeddings is True"),
        ("a", {"num_hidden_layers": 5}, "layer_types has 6 entries for num_hidden_layers 5"),
        ("a", {"mlp_layer_types": ["moe"]}, "mlp_layer_types has 1 entries"),
        ("a", {"mlp_layer_types": ["dense"] * 6}, "mlp_layer_types has 'dense'"),
        ("a", {"layer_types": ["full_attention"] * 6}, "layer_types has 'full_attention'"),
        ("a", {"layer_types": [3] * 6}, "layer_types has 3"),
        ("a", {"compress_rates": {}}, "compress_rates lacks compressed_sparse_attention"),
        ("a", {"o_groups": 3}, r"o_groups \(3\) must divide num_attention_heads \(4\)"),
        ("a", {"num_experts_per_tok": 9}, r"num_experts_per_tok \(9\) exceeds"),
        ("a", {"layer_types": None}, "lacks compress_ratios"),
        ("b/release", {"compress_ratios": [16, 4, 0, 4, 4]}, r"prediction blocks \[4\]"),
        ("b/release", {"compress_ratios": [16, 4]}, "compress_ratios has 2 entries for 4 layers"),
        ("b/release", {"compress_ratios": [16, 4, 0, -4, 0]}, "rate -4"),
        ("b/release", {"compress_ratios": "16"}, "compress_ratios"),
        ("b/release", {"num_hash_layers": None}, "lacks num_hash_layers"),
        ("b/release", {"qk_rope_head_dim": 3}, r"qk_rope_head_dim \(3\) must be even"),
        ("b/release", {"rope_scaling": {"type": "linear", "factor": 2}}, "rope has type 'linear'"),
        ("b/release", {"rope_scaling": {"type": "yarn"}}, "factor"),
        ("b/release", {"rope_scaling": "yarn"}, "is not of the expected form"),
        ("b/release", {"num_hidden_layers": "4"}, "num_hidden_layers is '4', not a whole number"),
        ("a", {"num_hidden_layers": 1 << 40}, "num_hidden_layers is 1099511627776, not a whole number"),
        ("b/release", {"num_hash_layers": True}, "num_hash_layers is True, not a whole number"),
        ("a", {"num_key_value_heads": True}, "num_key_value_heads is True. Only 1 is supported"),
        ("a", {"partial_rotary_factor": True, "rope_parameters": None}, "partial_rotary_factor is True"),
        ("a", {"eos_token_id": True}, "eos_token_ids.0: "),
        ("a", {"compress_rates": {CSA: 4, HCA: True}}, "rate: "),
        ("a", {"hc_sinkhorn_iters": 1001}, "hc_sinkhorn_iters: .* less than or equal to 1000"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(
    tmp_path: Path, name: str, changes: dict[str, Any], message: str
) -> None:
    directory = copy(name, tmp_path)
    edit_config(directory, **changes)
    with pytest.raises(CheckpointError, match=rf"config\.json: .*{message}"):
        read_config(directory)


NUMBERS = sorted(
    name
    for name, field in ModelConfig.model_fields.items()
    if field.annotation in (int, float) and name not in ("rope_theta", "qk_rope_head_dim")
)
REALS = [name for name in NUMBERS if ModelConfig.model_fields[name].annotation is float]
WHOLE = [name for name in NUMBERS if name not in REALS]


@pytest.mark.parametrize("name", [*NUMBERS, "rope_theta", "qk_rope_head_dim"])
@pytest.mark.parametrize("value", [True, "1", 10**400], ids=["true", "text", "huge"])
def test_a_number_of_another_type_or_beyond_any_range_is_refused_by_field(
    tmp_path: Path, name: str, value: object
) -> None:
    directory = copy("b/release", tmp_path)
    edit_config(directory, **{name: value})
    with pytest.raises(CheckpointError, match=rf"config\.json: {name}\b"):
        read_config(directory)


@pytest.mark.parametrize("name", WHOLE)
def test_a_size_that_no_network_has_is_refused_by_field(tmp_path: Path, name: str) -> None:
    directory = copy("b/release", tmp_path)
    edit_config(directory, **{name: 1 << 40})
    with pytest.raises(
        CheckpointError, match=rf"config\.json: {name}(: Input should be less than| is 1099511627776, not)"
    ):
        read_config(directory)


@pytest.mark.parametrize("name", [*REALS, "head_dim", "unknown"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused_by_field(tmp_path: Path, name: str, value: float) -> None:
    for form in (value, [1, [value]]):
        directory = copy("a", tmp_path)
        edit_config(directory, **{name: form})
        with pytest.raises(CheckpointError, match=rf"config\.json: .*{name} is -?(nan|inf), not a finite"):
            read_config(directory)


def test_the_largest_sizes_that_are_accepted_are_those_of_real_networks_and_more(tmp_path: Path) -> None:
    directory = copy("a", tmp_path)
    sizes = {
        "hidden_size": 7168,
        "num_attention_heads": 128,
        "head_dim": 512,
        "index_head_dim": 128,
        "n_routed_experts": 384,
    }
    edit_config(directory, **sizes, vocab_size=129280, max_position_embeddings=1 << 20)
    config = read_config(directory)
    assert {name: getattr(config, name) for name in sizes} == sizes


@pytest.mark.parametrize("content", [None, "", "[]", '{"a":', "[" * 100_000, '{"a":' * 100_000])
def test_missing_or_broken_file_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"config\.json: (does not exist|is not )"):
        read_config(tmp_path)
