"""Greedy decoding of the bundled checkpoint: its drafts are mostly right, on text that is more than a loop."""

import pytest

from deepseek.bundled import PATH
from deepseek.bundled.acceptance import Greedy, measure
from deepseek.checkpoint import load_model
from deepseek.tokenizer import load_tokenizer

PROMPTS = (
    'If the name does not occur in a "global" or "no',
    "The following methods can be defined to customi",
    "The primary must evaluate to an object of a typ",
    "Changed in version 3.5: Function calls accept a",
    'The operators "in" and "not in" test for member',
    "You can also write multi-item context managers ",
    "A group pattern allows users to add parentheses",
    "If an exception is supplied, and the method wis",
    "Enter the debugger at the calling stack frame. ",
    "Exception messages are not part of the Python A",
    "The *precision* is a decimal integer indicating",
    "For any given release, the compiler knows which",
    "The above exception was the direct cause of the",
    'When a class is created, "type.__new__()" scans',
    "Return a string which is the concatenation of t",
    'See also the "codecs" module for a more flexibl',
    "The rules for integer representation are intend",
    "A *file object* represents an open file. Variou",
    "Forward and reversed iterators over mutable seq",
    "Yield expressions and statements are only used ",
)
"""Beginnings of paragraphs that were kept out of training, 47 bytes each."""
CONTINUATION = 128


@pytest.fixture(scope="module")
def greedy() -> Greedy:
    model, tokenizer = load_model(PATH, capacity=1, context=16, rows_per_step=2), load_tokenizer(PATH)
    found = measure(model, [tokenizer.encode(text) for text in PROMPTS], CONTINUATION)
    for text, tokens in zip(PROMPTS, found.continuations, strict=True):
        print(f"{text!r}: {tokenizer.decode(tokens)!r}")
    print(f"{found.accepted} of {found.drafts} drafts, {found.distinct(8):.3f} distinct 8-grams")
    return found


def test_seven_in_ten_drafts_are_accepted(greedy: Greedy) -> None:
    assert greedy.drafts > 1000
    assert greedy.acceptance >= 0.7


def test_continuations_do_not_merely_repeat(greedy: Greedy) -> None:
    assert greedy.distinct(8) > 0.6


def test_continuations_differ_by_prompt(greedy: Greedy) -> None:
    assert len({tuple(tokens[:32]) for tokens in greedy.continuations}) > len(PROMPTS) // 2


def test_continuations_are_words(greedy: Greedy) -> None:
    decode = load_tokenizer(PATH).decode
    for tokens in greedy.continuations:
        text = decode(tokens)
        assert text.isascii()
        assert 0.7 < sum(character.isalpha() for character in text) / len(text) < 0.95
