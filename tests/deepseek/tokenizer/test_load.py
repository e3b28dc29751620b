"""Which file of a checkpoint gives its tokenizer, and what is said where none can."""

import json
from pathlib import Path
from typing import Any

import pytest

from deepseek.bundled import PATH
from deepseek.tokenizer import ByteTokenizer, JsonTokenizer, TokenizerError, load, load_tokenizer
from tests.deepseek.tokenizer.building import BOS, THINK, byte_level_bpe, save, word_level

BYTES = {"tokenizer_class": "ByteTokenizer", "bos_token_id": 0, "byte_offset": 2}


def settings(directory: Path, **fields: Any) -> None:
    (directory / "tokenizer_config.json").write_text(json.dumps(fields))


def test_bundled_checkpoint_has_a_byte_tokenizer() -> None:
    assert load_tokenizer(PATH).encode("x") == [0, 2 + ord("x")]


def test_tokenizer_json_wins_over_the_byte_tokenizer(tmp_path: Path) -> None:
    settings(save(byte_level_bpe(), tmp_path), **BYTES)
    assert isinstance(load_tokenizer(tmp_path), JsonTokenizer)


def test_without_tokenizer_json_bytes_are_used(tmp_path: Path) -> None:
    settings(tmp_path, **BYTES)
    assert isinstance(load_tokenizer(tmp_path), ByteTokenizer)


@pytest.mark.parametrize("bos", [BOS, {"__type": "AddedToken", "content": BOS, "lstrip": False}])
def test_bos_is_the_token_that_the_settings_name(tmp_path: Path, bos: Any) -> None:
    settings(save(byte_level_bpe(), tmp_path), bos_token=bos)
    assert load_tokenizer(tmp_path).encode("hello")[0] == 0


def test_bos_is_left_out_where_the_settings_say_so(tmp_path: Path) -> None:
    settings(save(byte_level_bpe(), tmp_path), bos_token=BOS, add_bos_token=False)
    assert 0 not in load_tokenizer(tmp_path).encode("hello")


@pytest.mark.parametrize("bos", ["<s>", 7, {"text": BOS, "content": ["x"]}])
def test_a_bos_that_is_no_token_is_refused(tmp_path: Path, bos: Any) -> None:
    settings(save(byte_level_bpe(), tmp_path), bos_token=bos)
    with pytest.raises(
        TokenizerError, match=r"tokenizer_config\.json: bos_token .* is not a token .* --prompt-ids"
    ):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "content", [None, "{", "[]", "{}", json.dumps({"tokenizer_class": "LlamaTokenizerFast"})]
)
def test_checkpoint_without_a_readable_tokenizer_points_to_prompt_ids(
    tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "tokenizer_config.json").write_text(content)
    with pytest.raises(TokenizerError, match=r"tokenizer_config\.json .* --prompt-ids"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("fault", [{"byte_offset": -1}, {"byte_offset": "2"}, {"bos_token_id": None}])
def test_a_byte_tokenizer_with_an_id_that_is_none_is_refused(tmp_path: Path, fault: dict[str, Any]) -> None:
    settings(tmp_path, **{**BYTES, **fault})
    (name,) = fault
    with pytest.raises(
        TokenizerError, match=rf"tokenizer_config\.json: {name} must be a token id, .* --prompt-ids"
    ):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"{}",
        b'{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}',
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7847602\n",
        b'{"model": {"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"}}',  # cannot encode anything
    ],
    ids=lambda content: content[:20],
)
def test_a_tokenizer_json_that_is_no_tokenizer_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    settings(tmp_path, **BYTES)
    with pytest.raises(
        TokenizerError, match=r"tokenizer\.json is not a tokenizer .* download it .* --prompt-ids"
    ):
        load_tokenizer(tmp_path)


def test_a_tokenizer_json_of_absurd_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(byte_level_bpe(), tmp_path)
    monkeypatch.setattr(load, "_LARGEST_FILE", 1000)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json is larger than 1000 bytes.* --prompt-ids"):
        load_tokenizer(tmp_path)


def test_a_link_to_a_missing_tokenizer_json_is_a_fault_not_an_absence(tmp_path: Path) -> None:
    settings(tmp_path, **BYTES)
    (tmp_path / "tokenizer.json").symlink_to(tmp_path / "blob")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json cannot be read \(No such file"):
        load_tokenizer(tmp_path)


def test_a_folder_named_tokenizer_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(TokenizerError, match=r"tokenizer\.json is not a file: .* --prompt-ids"):
        load_tokenizer(tmp_path)


def test_ids_beyond_the_models_vocabulary_are_refused_with_figures(tmp_path: Path) -> None:
    tokenizer = byte_level_bpe()
    save(tokenizer, tmp_path)
    largest = tokenizer.token_to_id(THINK)
    load_tokenizer(tmp_path, vocab_size=largest + 1)
    with pytest.raises(
        TokenizerError, match=rf"tokenizer\.json .* up to {largest}, .* of {largest} ends at {largest - 1}: "
    ):
        load_tokenizer(tmp_path, vocab_size=largest)


def test_gaps_in_the_vocabulary_do_not_hide_its_largest_id(tmp_path: Path) -> None:
    fields = json.loads(word_level(["?", "a"], None).to_str())
    fields["model"]["vocab"]["far"] = 900
    (tmp_path / "tokenizer.json").write_text(json.dumps(fields))
    with pytest.raises(TokenizerError, match=r"up to 900, .* of 900 ends at 899"):
        load_tokenizer(tmp_path, vocab_size=900)


def test_bytes_beyond_the_models_vocabulary_are_refused_too(tmp_path: Path) -> None:
    settings(tmp_path, **BYTES)
    load_tokenizer(tmp_path, vocab_size=258)
    with pytest.raises(TokenizerError, match=r"tokenizer_config\.json .* up to 257, .* of 257 ends at 256: "):
        load_tokenizer(tmp_path, vocab_size=257)
