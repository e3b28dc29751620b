"""Prompts from the command line, checked, as token ids."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deepseek.tokenizer import Tokenizer
from graph.cli.command import UsageError


def read_prompts(args: Namespace, vocab_size: int, tokenizer: Tokenizer | None) -> list[tuple[int, ...]]:
    """The prompts of `--prompt`, `--prompts` or `--prompt-ids`; raises `UsageError` for one that cannot be used.

    `tokenizer` may be None only where the prompts are token ids.
    """
    if args.prompt_ids:
        return list(_ids(Path(args.prompt_ids), vocab_size))
    assert tokenizer is not None
    texts = args.prompt or _lines(Path(args.prompts))
    for number, text in enumerate(texts):
        if not text:
            where = f"{args.prompts}:{number + 1}" if args.prompts else f"prompt {number}"
            raise UsageError(f"{where} is empty: give it some text, or remove it")
    return [tuple(tokenizer.encode(text)) for text in texts]


def _lines(path: Path) -> list[str]:
    lines = _text(path).splitlines()
    if not lines:
        raise UsageError(f"{path} has no prompts: write one a line")
    return lines


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _ids(path: Path, vocab_size: int) -> Iterator[tuple[int, ...]]:
    try:
        lists: Any = json.loads(_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    if not isinstance(lists, list) or not lists:
        raise UsageError(f"{path}: write a list of lists of token ids, as in [[5, 17], [9]]")
    for number, ids in enumerate(lists):
        if not isinstance(ids, list) or not ids:
            raise UsageError(f"{path}: prompt {number} must be a list of at least one token id")
        for token in ids:
            if type(token) is not int or not 0 <= token < vocab_size:
                raise UsageError(
                    f"{path}: prompt {number}: {token!r} is not a token id (0 to {vocab_size - 1})"
                )
        yield tuple(ids)
