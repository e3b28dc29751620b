"""The text that the bundled model learns from: the prose of Python's language reference, as `pydoc_data` has it.

Every Python installation carries it. Another Python version has another text; `Corpus.sha256` tells.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pydoc_data.topics import topics

HELD_OUT_EVERY = 12
"""One paragraph in so many is kept out of training."""


@dataclass(frozen=True)
class Corpus:
    """No paragraph is there twice."""

    training: tuple[str, ...]
    """Topics, each some paragraphs joined by newlines."""
    held_out: tuple[str, ...]
    """Single paragraphs of the same topics."""

    @property
    def sha256(self) -> str:
        """Of all texts, each followed by a zero byte; those to train on come first."""
        texts = self.training + self.held_out
        return hashlib.sha256("".join(f"{text}\0" for text in texts).encode()).hexdigest()

    def described(self) -> dict[str, object]:
        """What the log of a training run says about it."""
        return {
            "sha256": self.sha256,
            "training_topics": len(self.training),
            "held_out_paragraphs": len(self.held_out),
            "training_bytes": sum(len(text.encode()) for text in self.training),
            "held_out_bytes": sum(len(text.encode()) for text in self.held_out),
        }


def read_corpus() -> Corpus:
    """Take the language reference apart; the same for everyone with the same Python."""
    seen: set[str] = set()
    training: list[str] = []
    held_out: list[str] = []
    for name in sorted(topics):
        kept: list[str] = []
        for paragraph in _prose(topics[name]):
            if paragraph in seen:
                continue
            seen.add(paragraph)
            (kept if len(seen) % HELD_OUT_EVERY else held_out).append(paragraph)
        training.append("\n".join(kept))
    return Corpus(tuple(filter(None, training)), tuple(held_out))


def _prose(text: str) -> Iterator[str]:
    """Paragraphs of plain English, each on one line; code, grammar, tables and headings are left out."""
    for block in re.split(r"\n\s*\n", text):
        paragraph = " ".join(block.split()).removeprefix("* ")
        plain = sum(character.isalpha() or character in " ,." for character in paragraph)
        if (
            len(paragraph) >= 60
            and paragraph.isascii()
            and paragraph[0].isalpha()
            and paragraph[-1] in ".:!?)"
            and plain > 0.85 * len(paragraph)
        ):
            yield paragraph
