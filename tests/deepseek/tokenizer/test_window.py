"""Text of ids as they come: together it is the text of all of them, whatever the decoder does with neighbours."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex, decoders, pre_tokenizers

from deepseek.tokenizer import JsonTokenizer
from tests.deepseek.tokenizer.building import BOS, byte_level_bpe, word_level

BPE = byte_level_bpe()
ALPHABET = sorted(
    pre_tokenizers.ByteLevel.alphabet()
)  # printable bytes as themselves, the others from U+0100 on
OTHERS = [byte for byte in range(256) if chr(byte) not in ALPHABET]
BYTE_IDS = [BPE.token_to_id(chr(0x100 + OTHERS.index(b) if b in OTHERS else b)) for b in range(256)]
PIECES = [
    *(
        "?",
        "▁",
        "▁a",
        "a",
        "b▁",
        " ",
        "  c",
        "##d",
        "##",
        ".",
        "n't",
        "do",
        "not",
        "e</w>",
        "</w>",
        "|",
        "<pad>",
    ),
    *(
        "<0x41>",
        "<0xE4>",
        "<0xBD>",
        "<0xA0>",
        "<0xF0>",
        "<0x9F>",
        "<0x98>",
        "<0x80>",
        "\N{REPLACEMENT CHARACTER}",
    ),
]
LLAMA = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
DECODERS = {
    "none": None,
    "word pieces": decoders.WordPiece(),
    "metaspace": decoders.Metaspace(),
    "metaspace, first kept": decoders.Metaspace(prepend_scheme="never"),
    "suffixes": decoders.BPEDecoder(),
    "ctc": decoders.CTC(),
    "byte fallback": decoders.Sequence(LLAMA),
    "byte fallback, nested": decoders.Sequence([decoders.Sequence(LLAMA)]),
    "nine spaces stripped": decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 9, 0)]),
    "replaced after joining": decoders.Sequence([decoders.Fuse(), decoders.Replace("a.", "b")]),
    "a pattern after joining": decoders.Sequence([decoders.Fuse(), decoders.Replace(Regex("a+$"), "b")]),
    "word pieces after joining": decoders.Sequence([decoders.Fuse(), decoders.WordPiece()]),
}


def pieces(tokenizer: JsonTokenizer, ids: list[int]) -> list[str]:
    """What each id gives, then what the end gives."""
    stream = tokenizer.stream()
    return [*map(stream.push, ids), stream.finish()]


def piece_ids(*tokens: str) -> list[int]:
    return [PIECES.index(token) for token in tokens]


@given(st.lists(st.integers(0, BPE.get_vocab_size() + 3) | st.sampled_from(BYTE_IDS), max_size=150))
def test_byte_level_pieces_together_are_the_whole(ids: list[int]) -> None:
    tokenizer = JsonTokenizer(BPE)
    assert "".join(pieces(tokenizer, ids)) == tokenizer.decode(ids)


@given(st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
@example("😀".encode() * 40)
@example(b"\x80" * 100)
@example(b"\xf0\x9f\x98" * 40)
def test_any_bytes_one_a_token_read_as_utf8(content: bytes) -> None:
    ids = [BYTE_IDS[byte] for byte in content]
    assert "".join(pieces(JsonTokenizer(BPE), ids)) == content.decode(errors="replace")


@pytest.mark.parametrize("kind", DECODERS)
@given(st.lists(st.integers(0, len(PIECES) - 1), max_size=120))
def test_pieces_together_are_the_whole_for_every_decoder(kind: str, ids: list[int]) -> None:
    tokenizer = JsonTokenizer(word_level(PIECES, DECODERS[kind]))
    assert "".join(pieces(tokenizer, ids)) == tokenizer.decode(ids)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_long_output_together_is_the_whole(kind: str) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    choose = random.Random(seed)
    tokenizer = JsonTokenizer(word_level(PIECES, DECODERS[kind]))
    for weights in ([1] * len(PIECES), [choose.random() ** 6 for _ in PIECES]):
        ids = choose.choices(range(len(PIECES)), weights, k=3000)
        assert "".join(pieces(tokenizer, ids)) == tokenizer.decode(ids)


def test_a_character_over_several_tokens_comes_with_the_last_of_them() -> None:
    ids = [BYTE_IDS[byte] for byte in "a😀b".encode()]
    assert pieces(JsonTokenizer(BPE), ids) == ["a", "", "", "", "😀", "b", ""]


def test_a_character_cut_off_at_the_end_is_marked() -> None:
    ids = [BYTE_IDS[byte] for byte in "é".encode()[:1]]
    assert pieces(JsonTokenizer(BPE), ids) == ["", "\N{REPLACEMENT CHARACTER}"]


def test_invalid_bytes_come_as_soon_as_another_byte_follows() -> None:
    ids = [BYTE_IDS[0xFF]] * 3
    mark = "\N{REPLACEMENT CHARACTER}"
    assert pieces(JsonTokenizer(BPE), ids) == ["", mark, mark, mark]


def test_spaces_between_words_come_with_the_word_that_follows() -> None:
    tokenizer = JsonTokenizer(word_level(PIECES, decoders.Metaspace()))
    assert pieces(tokenizer, piece_ids("▁a", "▁a", "a")) == ["a", " a", "a", ""]


def test_a_run_of_fallback_bytes_waits_for_its_end_as_a_bad_byte_spoils_all_of_it() -> None:
    tokenizer = JsonTokenizer(word_level(PIECES, DECODERS["byte fallback"]))
    good = piece_ids("a", "<0xE4>", "<0xBD>", "<0xA0>", "a")
    spoilt = piece_ids("a", "<0xE4>", "<0xBD>", "<0xA0>", "<0xF0>", "a")
    assert pieces(tokenizer, good) == ["a", "", "", "", "你a", ""]
    assert pieces(tokenizer, spoilt) == ["a", "", "", "", "", "\N{REPLACEMENT CHARACTER}" * 4 + "a", ""]


def test_tokens_that_look_like_fallback_bytes_are_text_to_other_decoders() -> None:
    assert pieces(JsonTokenizer(word_level(PIECES, decoders.Fuse())), piece_ids("<0x41>", "a")) == [
        "<0x41>",
        "a",
        "",
    ]


def test_text_comes_at_the_end_where_the_decoder_rewrites_what_it_gave() -> None:
    tokenizer = JsonTokenizer(word_level(PIECES, DECODERS["replaced after joining"]))
    assert pieces(tokenizer, piece_ids("a", ".")) == ["", "", "b"]


def test_special_ids_inside_a_character_leave_no_trace() -> None:
    first, second = (BYTE_IDS[byte] for byte in "é".encode())
    assert pieces(JsonTokenizer(BPE), [first, BPE.token_to_id(BOS), second]) == ["", "", "é", ""]


@pytest.mark.parametrize("byte", [0x41, 0xFF, 0x80, 0xE4])
def test_ids_decoded_together_stay_few_however_long_the_output(byte: int) -> None:
    tokenizer = JsonTokenizer(BPE)
    lengths: list[int] = []

    class Counting(JsonTokenizer):
        def decode(self, tokens: list[int]) -> str:
            lengths.append(len(tokens))
            return tokenizer.decode(tokens)

    pieces(Counting(BPE), [BYTE_IDS[byte]] * 2000)
    assert max(lengths) < 50
    assert len(lengths) < 2 * 2000
