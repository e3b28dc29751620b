"""What has come from other processes for a step: values and the failure, each waited for where it is needed.

Who asks for a message knows from the board that it was sent, so the wait is for the pipe alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

ERROR = ("", "")
"""The key of a step's failure; values have their producer and type."""


class Mailbox:
    """Messages by turn and key, put there by the thread that reads the pipe; the first of a key stays."""

    def __init__(self, over: Callable[[], bool]) -> None:
        self._over = over
        self._news = threading.Condition()
        self._kept: dict[int, dict[tuple[str, str], bytes]] = {}
        self._past = -1
        """The last turn whose messages are forgotten."""

    def put(self, turn: int, key: tuple[str, str], payload: bytes) -> None:
        with self._news:
            if turn > self._past:
                self._kept.setdefault(turn, {}).setdefault(key, payload)
                self._news.notify_all()

    def wait(self, turn: int, key: tuple[str, str]) -> bytes | None:
        """The message, once it is there; None where the run is halted first."""
        with self._news:
            self._news.wait_for(lambda: self._over() or key in self._kept.get(turn, {}))
            return self._kept.get(turn, {}).get(key)

    def forget(self, last: int) -> None:
        """Steps up to the turn `last` are past; nobody asks for their messages any more."""
        with self._news:
            for turn in range(self._past + 1, last + 1):
                self._kept.pop(turn, None)
            self._past = max(self._past, last)

    def wake(self) -> None:
        """The run is halted: whoever waits looks again."""
        with self._news:
            self._news.notify_all()
