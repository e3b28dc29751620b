"""What the engine needs of a tokenizer, whichever file it came from."""

from typing import Protocol


class TokenizerError(Exception):
    """A checkpoint's text form cannot be used, or a text not with it; says why and what to do instead."""


class TextStream(Protocol):
    """Turns the ids of one output into text as they come; all the text together is `decode` of all the ids."""

    def push(self, token: int) -> str:
        """Text that this id completes; empty while a character is unfinished."""

    def finish(self) -> str:
        """What is left at the end; an unfinished character becomes U+FFFD."""


class Tokenizer(Protocol):
    """What the engine needs of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        """Ids of a prompt, beginning-of-sequence first.

        Raises:
            TokenizerError: the text has unpaired surrogates, so that it has no UTF-8 form.
        """

    def decode(self, tokens: list[int]) -> str:
        """Text of whole outputs; special ids leave no text."""

    def stream(self) -> TextStream:
        """A fresh stream for one output."""


def utf8(text: str) -> bytes:
    """The text's UTF-8 form; raises `TokenizerError` where it has none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(
            f"the prompt's character {error.start} is an unpaired surrogate ({text[error.start]!a}): "
            "give the prompt as valid UTF-8"
        ) from None
