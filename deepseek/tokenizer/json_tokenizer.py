"""A checkpoint's own tokenizer, as its tokenizer.json describes it."""

import json
from typing import Any

import tokenizers

from deepseek.tokenizer.base import TokenizerError, utf8
from deepseek.tokenizer.decoder_steps import can_stream, falls_back_to_bytes, is_byte, steps
from deepseek.tokenizer.window import WindowStream


class JsonTokenizer:
    """Text to ids and back by the `tokenizers` library.

    `bos` goes before every prompt that does not begin with it, unless `add_bos` is false; where the tokenizer itself
    begins prompts with a special token, that one is taken instead. Either stands there once, also where the text of the
    prompt begins with it. A limit of length or padding in the file is not applied: prompts are never cut.
    """

    def __init__(
        self, tokenizer: tokenizers.Tokenizer, bos: int | None = None, *, add_bos: bool = True
    ) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        own = _own_bos(tokenizer)
        self._bos = bos if own is None else own
        self._add_bos = add_bos and bos is not None
        self._special = {id_ for id_, token in tokenizer.get_added_tokens_decoder().items() if token.special}
        decoder = steps(_decoder(tokenizer))
        self._can_stream = can_stream(decoder)
        self._falls_back = falls_back_to_bytes(decoder)

    @property
    def largest_id(self) -> int:
        """The largest id that `encode` can give."""
        return max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=0)

    def encode(self, text: str) -> list[int]:
        """Beginning-of-sequence once, where the checkpoint has one, then the text."""
        utf8(text)
        try:
            ids: list[int] = self._tokenizer.encode(text).ids
        except Exception as error:  # the library raises no narrower one
            raise TokenizerError(
                f"the tokenizer has no ids for the prompt ({error}): write it with characters that the tokenizer knows"
            ) from error
        start = 0
        while start < len(ids) and ids[start] == self._bos:
            start += 1
        if self._bos is None or not (start or self._add_bos):
            return ids
        return [self._bos, *ids[start:]]

    def decode(self, tokens: list[int]) -> str:
        """Text of a whole output; special ids and ids that the vocabulary lacks leave no text."""
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return text

    def stream(self) -> WindowStream:
        """A stream; where the decoder rewrites earlier text, all of it comes at the end."""
        return WindowStream(self.decode, self._unsettled, self._silent)

    def _unsettled(self, token: int) -> bool:
        return not self._can_stream or (self._falls_back and is_byte(self._tokenizer.id_to_token(token)))

    def _silent(self, token: int) -> bool:
        return token in self._special or self._tokenizer.id_to_token(token) is None


def _own_bos(tokenizer: tokenizers.Tokenizer) -> int | None:
    """The special token that the tokenizer's post-processor puts before any text."""
    encoded = tokenizer.encode("a")
    mask: list[int] = encoded.special_tokens_mask
    if not mask or not mask[0]:
        return None
    first: int = encoded.ids[0]
    return first


def _decoder(tokenizer: tokenizers.Tokenizer) -> dict[str, Any] | None:
    fields: dict[str, Any] | None = (
        json.loads(tokenizer.decoder.__getstate__()) if tokenizer.decoder else None
    )
    return fields
