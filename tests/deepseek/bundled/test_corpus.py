"""The text to train on."""

import pytest

from deepseek.bundled.corpus import HELD_OUT_EVERY, Corpus, read_corpus


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return read_corpus()


def test_no_paragraph_is_both_trained_on_and_held_out(corpus: Corpus) -> None:
    training = [paragraph for text in corpus.training for paragraph in text.split("\n")]
    together = [*training, *corpus.held_out]
    assert len(corpus.held_out) == len(together) // HELD_OUT_EVERY
    assert len(set(together)) == len(together)


def test_it_is_prose(corpus: Corpus) -> None:
    text = "".join(corpus.training)
    assert len(text) > 100_000
    assert text.isascii()
    assert sum(character.isalpha() or character in " ,." for character in text) > 0.85 * len(text)


def test_its_digest_tells_another_text(corpus: Corpus) -> None:
    changed = Corpus((*corpus.training[1:], "Other text."), corpus.held_out)
    assert read_corpus().sha256 == corpus.sha256
    assert changed.sha256 != corpus.sha256
