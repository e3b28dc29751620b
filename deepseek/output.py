"""Results as they come: text streamed in the order of the prompts, or a JSON line for each request."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from deepseek.engine import Event, Finish, Request
from graph.cli.terminal import writing


class Output:
    """Takes the events of `Engine.generate` and writes; requests are written in order, each as soon as those before it
    have ended. Without a tokenizer their text is the token ids."""

    def __init__(self, requests: Sequence[Request], *, as_json: bool, stream: TextIO) -> None:
        self._requests = requests
        self._json = as_json
        self._stream = stream
        self._tokens: list[list[int]] = [[] for _ in requests]
        self._texts: list[str | None] = [None] * len(requests)
        self._pending = [""] * len(requests)
        self._finishes: list[Finish | None] = [None] * len(requests)
        self._errors: dict[int, str] = {}
        self._next = 0

    @property
    def failed(self) -> bool:
        """Whether any request ended by an error."""
        return bool(self._errors)

    def take(self, event: Event) -> None:
        """Note an event and write what it completes."""
        index = int(event.request)
        if event.token is not None:
            self._tokens[index].append(event.token)
        if event.text is not None:
            self._texts[index] = (self._texts[index] or "") + event.text
        self._pending[index] += self._shown(index, event)
        if event.error is not None:
            self._errors[index] = str(event.error)
            sys.stderr.write(f"laneflow: request {index} failed: {event.error}\n")
        self._finishes[index] = event.finish
        with writing("output"):
            self._write()

    def _shown(self, index: int, event: Event) -> str:
        if event.text is not None:
            return event.text
        return "" if event.token is None else f"{' ' if len(self._tokens[index]) > 1 else ''}{event.token}"

    def _write(self) -> None:
        while self._next < len(self._requests):
            index = self._next
            if not self._json and self._pending[index]:
                self._stream.write(self._pending[index])
                self._pending[index] = ""
            if self._finishes[index] is None:
                break
            self._stream.write(
                f"{json.dumps(self._line(index), ensure_ascii=False)}\n" if self._json else "\n"
            )
            self._next += 1
        self._stream.flush()

    def _line(self, index: int) -> dict[str, Any]:
        line: dict[str, Any] = {
            "request": index,
            "prompt_ids": list(self._requests[index].prompt),
            "output_ids": self._tokens[index],
            "text": self._texts[index],
            "finish": self._finishes[index],
        }
        return {**line, "error": self._errors[index]} if index in self._errors else line
