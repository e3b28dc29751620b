"""What other threads may touch of an engine: ids that are in use, and what is asked for and not yet looked at."""

from __future__ import annotations

import threading
from collections import deque
from itertools import count

from deepseek.requests import Request, RequestError
from deepseek.tenancy import Entry
from graph.errors import RuntimeStopped


class Inbox:
    """Ids and wishes under one lock; an id is in use from `add` until `forget`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Entry] = {}
        self._news: deque[Entry] = deque()
        """Entries that are new or, where `aborted` is set, to be aborted; an entry may be in it as both."""
        self._numbers = count()
        self._closed = False

    def add(self, request: Request, id: str | None) -> str:
        """Raises `RequestError` for an id that is in use, and `RuntimeStopped` once closed."""
        with self._lock:
            if self._closed:
                raise RuntimeStopped("the engine is closed and takes no more requests")
            number = next(self._numbers)
            name = self._fresh(number) if id is None else id
            if name in self._open:
                raise RequestError(
                    f"request id `{name}` is in use: choose another, or wait for the last event of that request"
                )
            entry = Entry(name, number, request)
            self._open[name] = entry
            self._news.append(entry)
            return name

    def _fresh(self, number: int) -> str:
        name = f"request-{number}"
        while name in self._open:
            name += "-"
        return name

    def abort(self, id: str) -> bool:
        """Ask for the end of a request; False where there is none, it has ended, or that was asked for already."""
        with self._lock:
            entry = self._open.get(id)
            if entry is None or entry.over or entry.aborted:
                return False
            entry.aborted = True
            self._news.append(entry)
            return True

    def close(self) -> None:
        """Take no more requests, and abort all that are open."""
        with self._lock:
            self._closed = True
            for entry in self._open.values():
                if not entry.aborted:
                    entry.aborted = True
                    self._news.append(entry)

    def forget(self, entry: Entry) -> None:
        """The entry's last event is told: its id may be used again."""
        with self._lock:
            del self._open[entry.id]

    def read(self) -> list[Entry]:
        """What has come since the last time, in order."""
        with self._lock:
            news, self._news = list(self._news), deque()
            return news
