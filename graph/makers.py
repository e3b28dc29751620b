"""What fills a slot: memory for a record, the executor's factory for a resource, nothing where it lives elsewhere.

Whatever a step was not proved to be through with is replaced. Memory of a record is then kept, since the device may
still use it; a resource is destroyed, or kept as well where it has no `close()`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from graph.errors import BindError, LifecycleError, ResourceLost


class ResourceCounts(NamedTuple):
    """Of the objects of one resource buffer. At rest `made == live + retired`; at the end of a run `live` is 0."""

    made: int
    """By the factory, at the start of the run and later."""
    retired: int
    """Destroyed: since a step was not proved to be through with it, or at the end of the run."""
    rebuilt: int
    """Made in the place of one that was destroyed."""
    live: int


class Missing:
    """Stands in a slot whose content could not be made anew."""

    def __init__(self, buffer: str, slot: int, cause: str) -> None:
        self._buffer, self._slot, self._cause = buffer, slot, cause

    def error(self) -> ResourceLost:
        """For a node that needs the slot."""
        return ResourceLost(self._buffer, self._slot, self._cause)


class Maker(Protocol):
    """`place` is where in shared memory a slot is; nothing else looks at it."""

    at_once: bool
    """Whether slots are made with the run, rather than when it starts."""
    kept: list[Any]
    """What was replaced and may still be in use."""

    def make(self, place: int) -> Any: ...

    def replace(self, old: Any, place: int) -> Any:
        """What stands for `old`, which may be still in use, from now on."""

    def destroy(self, one: Any) -> None:
        """The run is over, and this is what was in a slot."""

    def counts(self) -> ResourceCounts | None:
        """None where nothing is counted."""


class RecordMaker:
    """Records of tensors."""

    at_once = True

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make
        self.kept: list[Any] = []

    def replace(self, old: Any, place: int) -> Any:
        if not isinstance(old, Missing):
            self.kept.append(old)
        return self.make(place)

    def destroy(self, one: Any) -> None:
        del one

    def counts(self) -> None:
        return None


class Elsewhere:
    """Slots that live in another process."""

    at_once = True

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def make(self, place: int) -> None:
        del place

    def replace(self, old: Any, place: int) -> None:
        del old, place

    def destroy(self, one: Any) -> None:
        del one

    def counts(self) -> None:
        return None


class ResourceMaker:
    """Objects of the executor's factory. One that has `close()` is destroyed by it, once.

    What a factory puts on a device must be there when it returns: other queues do not wait for it.

    What `close` raises is handed to `on_fault` as a `LifecycleError`; the object counts as destroyed.
    """

    at_once = False

    def __init__(
        self,
        buffer: str,
        factory: Callable[[], Any],
        on_fault: Callable[[Exception], None],
        on_count: Callable[[ResourceCounts], None] | None = None,
    ) -> None:
        self._buffer, self._factory = buffer, factory
        self._on_fault, self._on_count = on_fault, on_count
        self.kept: list[Any] = []
        self._counting = threading.Lock()
        """Slots may be given back on several lanes."""
        self._counts = ResourceCounts(0, 0, 0, 0)

    def make(self, place: int) -> Any:
        """Raises `BindError` where the factory does."""
        del place
        try:
            made = self._factory()
        except Exception as error:
            raise BindError(f"the factory of buffer `{self._buffer}` failed: {error!r}") from error
        self._count(made=1, live=1)
        return made

    def replace(self, old: Any, place: int) -> Any:
        del place
        if not isinstance(old, Missing) and not hasattr(old, "close"):
            self.kept.append(old)
        self.destroy(old)
        made = self._factory()
        self._count(made=1, rebuilt=1, live=1)
        return made

    def destroy(self, one: Any) -> None:
        if isinstance(one, Missing):
            return
        try:
            if hasattr(one, "close"):
                one.close()
        except Exception as error:
            self._on_fault(LifecycleError(self._buffer, "close", error))
        finally:
            self._count(retired=1, live=-1)

    def counts(self) -> ResourceCounts:
        return self._counts

    def _count(self, made: int = 0, retired: int = 0, rebuilt: int = 0, live: int = 0) -> None:
        with self._counting:
            now = self._counts
            self._counts = ResourceCounts(
                now.made + made, now.retired + retired, now.rebuilt + rebuilt, now.live + live
            )
            if self._on_count is not None:
                self._on_count(self._counts)
