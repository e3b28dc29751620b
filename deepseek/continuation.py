"""One request's output: the text that can be shown, and where it ends."""

from __future__ import annotations

from deepseek.requests import Finish, Request
from deepseek.stop_strings import StopStrings
from deepseek.tokenizer import Tokenizer


class Continuation:
    """Takes tokens one by one until a stop condition is met; the request is one that `check` lets pass."""

    def __init__(self, request: Request, tokenizer: Tokenizer | None) -> None:
        self._request = request
        self._stream = tokenizer.stream() if tokenizer else None
        self._stops = StopStrings(request.stop)
        self._count = 0

    def push(self, token: int) -> tuple[str | None, Finish | None]:
        """The text that can be shown now, and how the request ends with this token."""
        self._count += 1
        text, met = "", False
        if self._stream is not None:
            text, met = self._stops.push(self._stream.push(token))
        finish: Finish | None = None
        if met or token in self._request.stop_ids:
            finish = "stop"
        elif self._count == self._request.max_tokens:
            finish = "length"
        if finish is not None and not met:
            rest, met = self._rest()
            text, finish = text + rest, "stop" if met else finish
        return (text if self._stream is not None else None), finish

    def finish(self) -> str | None:
        """What was held back, of a request that is ended from outside; None without a tokenizer."""
        return None if self._stream is None else self._rest()[0]

    def _rest(self) -> tuple[str, bool]:
        """What was held back, and whether it completes a stop string."""
        if self._stream is None:
            return "", False
        text, met = self._stops.push(self._stream.finish())
        return (text, True) if met else (text + self._stops.finish(), False)
