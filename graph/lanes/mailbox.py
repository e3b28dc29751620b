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

    def put(self, turn: int, key: tuple[str, str], payload: bytes) -> None:
        with self._news:
            self._kept.setdefault(turn, {}).setdefault(key, payload)
            self._news.notify_all()

    def wait(self, turn: int, key: tuple[str, str]) -> bytes | None:
        """The message, once it is there; None where the run is halted first."""
        with self._news:
            self._news.wait_for(lambda: self._over() or key in self._kept.get(turn, {}))
            return self._kept.get(turn, {}).get(key)

    def forget(self, turn: int) -> None:
        """The step is past; nobody asks for its messages any more."""
        with self._news:
            self._kept.pop(turn, None)

    def wake(self) -> None:
        """The run is halted: whoever waits looks again."""
        with self._news:
            self._news.notify_all()
