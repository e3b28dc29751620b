"""Text of ids as they come, from a decoder that only knows whole lists.

A token's text depends on its neighbours: the first one loses its leading space, a character's bytes may lie in several
tokens. So each id is decoded together with the last few, and only text that later ids cannot change is given out.
The library's own DecodeStream is not used: it decodes an invalid byte sequence again and again while it lasts, cannot
give out what is left at the end, and goes wrong where later bytes spoil the earlier ones of a byte-fallback run.
"""

from collections.abc import Callable

_LONGEST = 32
"""Ids decoded together before the older ones are dropped."""

_CONTEXT = 12
"""Ids kept when the older ones are dropped."""

_SYNCHRONISED = 3
"""Characters that the kept ids must have.

A cut inside a UTF-8 character leaves at most two bytes of an unfinished one, each of which reads as one character. So
with three characters the kept ids hold all the bytes of the character that is unfinished at the end.
"""


class WindowStream:
    """One output's text; time is linear in the number of ids.

    `decode` gives the text of a list of ids; `unsettled` says of an id whether what follows may still change the text
    up to it, U+FFFD at the end apart; `silent` whether `decode` skips it.
    """

    def __init__(
        self,
        decode: Callable[[list[int]], str],
        unsettled: Callable[[int], bool],
        silent: Callable[[int], bool],
    ) -> None:
        self._decode = decode
        self._unsettled = unsettled
        self._silent = silent
        self._ids: list[int] = []
        self._given = 0  # characters of the window's text that are out

    def push(self, token: int) -> str:
        """Text that no later id can change and that was not given yet."""
        if self._silent(token):
            return ""
        self._ids.append(token)
        if self._unsettled(token):
            return ""
        text = self._decode(self._ids)
        settled = _settled(text)
        new = text[self._given : settled]
        self._given = settled
        if len(self._ids) > _LONGEST:
            self._drop_oldest()
        return new

    def finish(self) -> str:
        """The rest of the text."""
        rest = self._decode(self._ids)[self._given :]
        self._ids, self._given = [], 0
        return rest

    def _drop_oldest(self) -> None:
        kept = self._ids[-_CONTEXT:]
        text = self._decode(kept)
        if len(text) >= _SYNCHRONISED:
            self._ids, self._given = kept, _settled(text)


def _settled(text: str) -> int:
    # U+FFFD at the end may be the first bytes of a character; there is one, however many bytes it has so far.
    return len(text) - text.endswith("\N{REPLACEMENT CHARACTER}")
