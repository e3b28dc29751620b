"""Text to token ids and back. So far one tokenizer: bytes, as the bundled checkpoint uses."""

import codecs
import json
from pathlib import Path
from typing import Protocol


class TokenizerError(Exception):
    """A checkpoint's text form cannot be used; says why and what to do instead."""


class TextStream(Protocol):
    """Turns the ids of one output into text as they come."""

    def push(self, token: int) -> str:
        """Text that this id completes; empty while a character is unfinished."""

    def finish(self) -> str:
        """What is left at the end; an unfinished character becomes U+FFFD."""


class Tokenizer(Protocol):
    """What the engine needs of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        """Ids of a prompt, beginning-of-sequence first."""

    def decode(self, tokens: list[int]) -> str:
        """Text of whole outputs; special ids leave no text."""

    def stream(self) -> TextStream:
        """A fresh stream for one output."""


class ByteTokenizer:
    """Id `offset + b` is the byte b of UTF-8 text; lower ids are special."""

    def __init__(self, bos: int = 0, offset: int = 2) -> None:
        self._bos = bos
        self._offset = offset

    def encode(self, text: str) -> list[int]:
        """Beginning-of-sequence, then the bytes."""
        return [self._bos, *(self._offset + byte for byte in text.encode())]

    def decode(self, tokens: list[int]) -> str:
        """Text of the byte ids; invalid UTF-8 becomes U+FFFD."""
        stream = self.stream()
        return "".join(map(stream.push, tokens)) + stream.finish()

    def stream(self) -> "ByteStream":
        """A stream that holds incomplete UTF-8 sequences back."""
        return ByteStream(self._offset)


class ByteStream:
    """Incremental UTF-8 over byte ids."""

    def __init__(self, offset: int) -> None:
        self._offset = offset
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token: int) -> str:
        """Text completed by this id; ids outside the bytes give none."""
        byte = token - self._offset
        return self._decoder.decode(bytes([byte])) if 0 <= byte < 256 else ""

    def finish(self) -> str:
        """U+FFFD if a character was cut off."""
        return self._decoder.decode(b"", final=True)


def load_tokenizer(directory: Path | str) -> Tokenizer:
    """The tokenizer that a checkpoint's tokenizer_config.json names.

    Raises:
        TokenizerError: there is none, or not one that can be read; token ids still work.
    """
    path = Path(directory) / "tokenizer_config.json"
    instead = "give the prompt as token ids with --prompt-ids"
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        kind = fields["tokenizer_class"]
        if kind == "ByteTokenizer":
            return ByteTokenizer(bos=int(fields["bos_token_id"]), offset=int(fields["byte_offset"]))
    except FileNotFoundError as error:
        raise TokenizerError(f"{path} does not exist: {instead}") from error
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise TokenizerError(f"{path} cannot be used ({error!r}): {instead}") from error
    raise TokenizerError(f"{path} names {kind}, but only ByteTokenizer is supported so far: {instead}")
