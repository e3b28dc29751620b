"""A checkpoint's own tokenizer: bos once, the whole prompt, no text of special ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek.tokenizer import JsonTokenizer, TokenizerError
from tests.deepseek.tokenizer.building import BOS, EOS, THINK, byte_level_bpe, word_level

PLAIN, PREPENDING = byte_level_bpe(), byte_level_bpe(prepends_bos=True)


@pytest.mark.parametrize("bos", [0, None])
@pytest.mark.parametrize("text", ["hello", BOS + "hello", BOS + BOS + "hello"])
def test_bos_of_the_post_processor_stands_there_once(bos: int | None, text: str) -> None:
    assert JsonTokenizer(PREPENDING, bos).encode(text) == [0, *PLAIN.encode("hello").ids]


@pytest.mark.parametrize("text", ["hello", BOS + "hello", BOS + BOS + "hello"])
def test_bos_of_the_settings_stands_there_once(text: str) -> None:
    assert JsonTokenizer(PLAIN, 0).encode(text) == [0, *PLAIN.encode("hello").ids]


def test_bos_of_the_post_processor_goes_before_another_one_of_the_settings() -> None:
    assert (
        JsonTokenizer(PREPENDING, PLAIN.token_to_id(EOS)).encode("hello")[:2]
        == PREPENDING.encode("hello").ids[:2]
    )


def test_a_prompt_that_brings_its_bos_keeps_it_where_none_is_added() -> None:
    tokenizer = JsonTokenizer(PLAIN, 0, add_bos=False)
    assert tokenizer.encode(BOS + "hello") == [0, *tokenizer.encode("hello")]


def test_bos_inside_a_prompt_stays() -> None:
    assert JsonTokenizer(PLAIN, 0).encode("hello" + BOS)[-1] == 0


def test_an_empty_prompt_is_bos_alone() -> None:
    assert JsonTokenizer(PLAIN, 0).encode("") == [0]


@given(st.text())
def test_text_survives_the_round_trip(text: str) -> None:
    tokenizer = JsonTokenizer(PLAIN, 0)
    assert tokenizer.decode(tokenizer.encode(text)) == text.replace(BOS, "").replace(EOS, "")


def test_truncation_and_padding_of_the_file_are_not_applied() -> None:
    limited = byte_level_bpe()
    limited.enable_truncation(2)
    limited.enable_padding(length=50)
    assert JsonTokenizer(limited).encode("hello world") == PLAIN.encode("hello world").ids


def test_special_ids_leave_no_text_but_other_added_tokens_do() -> None:
    ids = [0, *PLAIN.encode("hello").ids, PLAIN.token_to_id(THINK), 1]
    assert JsonTokenizer(PLAIN).decode(ids) == "hello" + THINK


def test_text_without_a_utf8_form_is_refused_with_its_place() -> None:
    with pytest.raises(TokenizerError, match=r"character 5 is an unpaired surrogate"):
        JsonTokenizer(PLAIN).encode("hello\ud800")


def test_a_prompt_that_the_vocabulary_cannot_say_is_refused() -> None:
    mute = word_level(["a"], None)
    mute.model.unk_token = "[UNK]"  # which the vocabulary lacks
    with pytest.raises(TokenizerError, match="no ids for the prompt"):
        JsonTokenizer(mute).encode("b")
