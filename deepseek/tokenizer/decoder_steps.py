"""What a tokenizer.json's decoder does to the text of tokens that came before.

The decoders are those of the `tokenizers` library; each step maps a list of strings, one a token, to another.
"""

import re
from collections.abc import Iterator
from typing import Any

_JOINING = {"Fuse", "ByteLevel"}
"""Steps after which the whole text is one string."""

_LEFT_TO_RIGHT = {"Fuse", "ByteLevel", "ByteFallback", "Metaspace", "Strip"}
"""Steps that leave the beginning of a joined text alone when text is added to its end."""

_BYTE = re.compile(r"<0x..>")


def steps(decoder: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of the `decoder` field in order, nested sequences opened."""
    return list(_opened(decoder)) if decoder else []


def _opened(decoder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if decoder["type"] == "Sequence":
        for step in decoder["decoders"]:
            yield from _opened(step)
    else:
        yield decoder


def can_stream(decoder: list[dict[str, Any]]) -> bool:
    """Whether the text of the first tokens is the beginning of the text of all of them.

    It is not where text is searched and replaced after the tokens were joined: a match may cross tokens.
    """
    joined = False
    for step in decoder:
        if joined and step["type"] not in _LEFT_TO_RIGHT and not _replaces_one_character(step):
            return False
        joined |= step["type"] in _JOINING
    return True


def _replaces_one_character(step: dict[str, Any]) -> bool:
    return step["type"] == "Replace" and len(step["pattern"].get("String", "")) == 1


def falls_back_to_bytes(decoder: list[dict[str, Any]]) -> bool:
    """Whether runs of `<0x..>` tokens become text, all of a run or, where it is not valid UTF-8, nothing of it."""
    return any(step["type"] == "ByteFallback" for step in decoder)


def is_byte(token: str | None) -> bool:
    """Whether a token may be one of a byte-fallback run."""
    return token is not None and _BYTE.fullmatch(token) is not None
