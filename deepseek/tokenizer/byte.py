"""Bytes as tokens: no vocabulary to learn, and any text survives the round trip."""

import codecs

from deepseek.tokenizer.base import utf8


class ByteTokenizer:
    """Id `offset + b` is the byte b of UTF-8 text; lower ids are special."""

    def __init__(self, bos: int = 0, offset: int = 2) -> None:
        self._bos = bos
        self._offset = offset

    @property
    def largest_id(self) -> int:
        """The largest id that `encode` can give."""
        return max(self._bos, self._offset + 255)

    def encode(self, text: str) -> list[int]:
        """Beginning-of-sequence, then the bytes."""
        return [self._bos, *(self._offset + byte for byte in utf8(text))]

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
