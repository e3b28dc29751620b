"""The tokenizer of a checkpoint folder, or one error that says which file is at fault and what to do instead."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers

from deepseek.tokenizer.base import Tokenizer, TokenizerError
from deepseek.tokenizer.byte import ByteTokenizer
from deepseek.tokenizer.json_tokenizer import JsonTokenizer

_LARGEST_FILE = 256 * 2**20
"""Bytes; those in use are under 40 MB."""

_INSTEAD = "give the prompt as token ids with --prompt-ids"


def load_tokenizer(directory: Path | str, vocab_size: int | None = None) -> Tokenizer:
    """The tokenizer of tokenizer.json; without that file, the byte tokenizer that tokenizer_config.json describes.

    With `vocab_size`, the number of ids that the model knows, a tokenizer with ids beyond them is refused.

    Raises:
        TokenizerError: there is none, or not one that can be used; token ids still work.
    """
    path = Path(directory) / "tokenizer.json"
    settings = Path(directory) / "tokenizer_config.json"
    content = _read(path)
    fields = _fields(settings)
    tokenizer: JsonTokenizer | ByteTokenizer
    if content is not None:
        tokenizer = _from_json(path, content, settings, fields or {})
    elif fields is not None:
        path, tokenizer = settings, _from_settings(settings, fields)
    else:
        raise TokenizerError(f"{settings} does not exist, and there is no tokenizer.json: {_INSTEAD}")
    if vocab_size is not None and tokenizer.largest_id >= vocab_size:
        raise TokenizerError(
            f"{path} has token ids up to {tokenizer.largest_id}, but the model's vocabulary of {vocab_size} ends at "
            f"{vocab_size - 1}: use the tokenizer that belongs to the checkpoint, or {_INSTEAD}"
        )
    return tokenizer


def _read(path: Path) -> bytes | None:
    """The file's content; None where there is no such file."""
    try:
        if path.exists() and not path.is_file():
            raise TokenizerError(f"{path} is not a file: {_INSTEAD}")
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            return None
        raise TokenizerError(f"{path} cannot be read ({error.strerror}): {_INSTEAD}") from error
    if len(content) > _LARGEST_FILE:
        raise TokenizerError(
            f"{path} is larger than {_LARGEST_FILE} bytes, too large for a tokenizer: {_INSTEAD}"
        )
    return content


def _fields(path: Path) -> Mapping[str, Any] | None:
    content = _read(path)
    if content is None:
        return None
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{path} is not JSON ({error}): mend it, or {_INSTEAD}") from None
    if not isinstance(fields, dict):
        raise TokenizerError(f"{path} is not a JSON object: mend it, or {_INSTEAD}")
    return fields


def _from_json(path: Path, content: bytes, settings: Path, fields: Mapping[str, Any]) -> JsonTokenizer:
    try:
        tokenizer = tokenizers.Tokenizer.from_buffer(content)
        tokenizer.encode("a")  # some faults show only in use
    except Exception as error:  # the library raises no narrower one
        raise TokenizerError(
            f"{path} is not a tokenizer that can be read ({error}): download it again, or {_INSTEAD}"
        ) from error
    name = fields.get("bos_token")
    if isinstance(name, dict):  # an added token, written out
        name = name.get("content")
    if name is None:
        return JsonTokenizer(tokenizer)
    bos = tokenizer.token_to_id(name) if isinstance(name, str) else None
    if bos is None:
        raise TokenizerError(
            f"{settings}: bos_token {name!r} is not a token of {path.name}: mend it, or {_INSTEAD}"
        )
    return JsonTokenizer(tokenizer, bos, add_bos=fields.get("add_bos_token") is not False)


def _from_settings(path: Path, fields: Mapping[str, Any]) -> ByteTokenizer:
    kind = fields.get("tokenizer_class")
    if kind != "ByteTokenizer":
        raise TokenizerError(
            f"{path} names {kind!r}, which needs a tokenizer.json beside it; without one only ByteTokenizer "
            f"is supported: add the checkpoint's tokenizer.json, or {_INSTEAD}"
        )
    return ByteTokenizer(bos=_id(path, fields, "bos_token_id"), offset=_id(path, fields, "byte_offset"))


def _id(path: Path, fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if type(value) is not int or value < 0:
        raise TokenizerError(f"{path}: {name} must be a token id, but is {value!r}: mend it, or {_INSTEAD}")
    return value
