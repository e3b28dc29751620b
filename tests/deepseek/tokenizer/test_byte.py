"""Bytes in, the same bytes out; text appears only in whole characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek.tokenizer import ByteTokenizer, TokenizerError


@given(st.text())
def test_text_survives_the_round_trip(text: str) -> None:
    tokenizer = ByteTokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_prompt_begins_with_bos_and_bytes_follow_the_specials() -> None:
    assert ByteTokenizer().encode("A\n") == [0, 2 + 65, 2 + 10]


def test_unfinished_character_is_held_back_until_its_last_byte() -> None:
    stream = ByteTokenizer().stream()
    assert [stream.push(2 + byte) for byte in "aé€".encode()] == ["a", "", "é", "", "", "€"]
    assert stream.finish() == ""


def test_character_cut_off_at_the_end_is_marked() -> None:
    stream = ByteTokenizer().stream()
    assert stream.push(2 + 0xE2) + stream.push(2 + 0x82) == ""
    assert stream.finish() == "\N{REPLACEMENT CHARACTER}"


@given(st.lists(st.integers(0, 300)))
def test_streamed_text_equals_the_whole(tokens: list[int]) -> None:
    tokenizer = ByteTokenizer()
    stream = tokenizer.stream()
    assert "".join(map(stream.push, tokens)) + stream.finish() == tokenizer.decode(tokens)


def test_special_and_unknown_ids_leave_no_text() -> None:
    assert ByteTokenizer().decode([0, 2 + 72, 1, 2 + 105, 258, 9999]) == "Hi"


def test_text_without_a_utf8_form_is_refused_with_its_place() -> None:
    with pytest.raises(TokenizerError, match=r"character 2 is an unpaired surrogate \('\\udcff'\)"):
        ByteTokenizer().encode("ab\udcff")
