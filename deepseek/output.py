"""Results as they come: text streamed in the order of the prompts, or a JSON line for each request."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from deepseek.engine import Event, Request
from deepseek.tokenizer import TextStream, Tokenizer


class Output:
    """Takes events and writes; requests are written in order, each as soon as those before it have ended."""

    def __init__(
        self, requests: Sequence[Request], tokenizer: Tokenizer | None, *, as_json: bool, stream: TextIO
    ) -> None:
        self._requests = requests
        self._tokenizer = tokenizer
        self._json = as_json
        self._stream = stream
        self._tokens: list[list[int]] = [[] for _ in requests]
        self._decoders: list[TextStream | None] = [
            tokenizer.stream() if tokenizer else None for _ in requests
        ]
        self._pending = [""] * len(requests)
        self._over = [False] * len(requests)
        self._errors: dict[int, str] = {}
        self._next = 0

    @property
    def failed(self) -> bool:
        """Whether any request ended by an error."""
        return bool(self._errors)

    def take(self, event: Event) -> None:
        """Note an event and write what it completes."""
        index = event.request
        if event.token is not None:
            self._tokens[index].append(event.token)
            self._pending[index] += self._text(index, event.token)
        if event.error is not None:
            self._errors[index] = str(event.error)
            sys.stderr.write(f"laneflow: request {index} failed: {event.error}\n")
        if event.finish is not None:
            decoder = self._decoders[index]
            self._pending[index] += decoder.finish() if decoder else ""
            self._over[index] = True
        self._write()

    def _text(self, index: int, token: int) -> str:
        decoder = self._decoders[index]
        if decoder is not None:
            return decoder.push(token)
        return f"{' ' if len(self._tokens[index]) > 1 else ''}{token}"

    def _write(self) -> None:
        while self._next < len(self._requests):
            index = self._next
            if not self._json and self._pending[index]:
                self._stream.write(self._pending[index])
                self._pending[index] = ""
            if not self._over[index]:
                break
            self._stream.write(
                f"{json.dumps(self._line(index), ensure_ascii=False)}\n" if self._json else "\n"
            )
            self._next += 1
        self._stream.flush()

    def _line(self, index: int) -> dict[str, Any]:
        tokens = self._tokens[index]
        line: dict[str, Any] = {
            "request": index,
            "prompt_ids": list(self._requests[index].prompt),
            "output_ids": tokens,
            "text": self._tokenizer.decode(tokens) if self._tokenizer else None,
        }
        return {**line, "error": self._errors[index]} if index in self._errors else line
