"""The outcome of a step, for whoever submitted it: resolved by the run alone, cancelled only before a lane begins."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, NoReturn, Protocol

from graph.errors import RuntimeStopped


class Cancellable(Protocol):
    """A step on its way, in whatever processes its lanes are."""

    @property
    def begun(self) -> bool:
        """Whether a lane has begun the step."""

    def cancel(self, error: Exception, /) -> bool:
        """Fail the step and return True if no lane has begun it, and nothing else has failed it."""


class Withdrawn(RuntimeStopped):
    """The failure of a step whose ticket was cancelled; the ticket itself ends as cancelled."""


class Ticket(Future[Any]):
    """A future that asks its step whether it runs, so that beginning a step costs its ticket nothing."""

    step: Cancellable | None = None
    """None once it is resolved."""

    def running(self) -> bool:
        step = self.step
        return step is not None and step.begun and not self.done()

    def cancel(self) -> bool:
        """End as cancelled and return True, unless a lane has begun the step or the run has given it up."""
        if self.cancelled():
            return True
        step = self.step
        if step is None or not step.cancel(Withdrawn("the step was cancelled before it started")):
            return False
        return super().cancel()

    # -- for the run -----------------------------------------------------------------------------------------

    succeed = Future.set_result
    fail = Future.set_exception

    def withdraw(self) -> None:
        """End as cancelled where it has no other outcome, and tell who waits in `concurrent.futures.wait`."""
        if super().cancel():
            super().set_running_or_notify_cancel()

    # -- what a future's executor may do ---------------------------------------------------------------------

    def set_result(self, result: Any) -> NoReturn:
        _refuse("set_result")

    def set_exception(self, exception: BaseException | None) -> NoReturn:
        _refuse("set_exception")

    def set_running_or_notify_cancel(self) -> NoReturn:
        _refuse("set_running_or_notify_cancel")


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"{name}() on a ticket: it is resolved by its run alone; to end it early call cancel(), and to hand on "
        "another outcome make a Future of your own"
    )
