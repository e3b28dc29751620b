"""Objects in slots: made when the run starts, destroyed once, rebuilt where a step was not proved to be through."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graph import BindError, LifecycleError, Runtime, StepError, Unfinished
from graph.errors import ResourceLost
from graph.makers import ResourceCounts
from tests.fakes import HANG_S, Behaviour, Probed, nothing, probed, topology

pytestmark = pytest.mark.usefixtures("nothing_left")

ENGINE = topology(
    types={"Stream": "resource", "Engine": "resource"},
    buffers={
        "streams": {"type": "Stream", "slots": 2},
        "engine": {"type": "Engine", "persistent": True},
    },
    nodes={
        "take": {"kind": "bind", "acquires": ["streams"]},
        "work": {"kind": "dispatch", "reads": ["engine"], "writes": ["streams"]},
        "tell": {"kind": "reclaim", "reads": ["streams"], "emits": "results"},
        "drop": {"kind": "release", "releases": ["streams"]},
    },
    edges={
        "take -> work": {"carries": ["streams"]},
        "work -> tell": {"carries": ["streams"]},
        "tell -> drop": {"carries": ["streams"]},
    },
    lanes={"host": ["take"], "device": ["work"], "output": ["tell"], "recycling": ["drop"]},
)


class Thing:
    """Notes in the factory's book when and on which thread it is closed."""

    def __init__(self, book: Book, number: int) -> None:
        self.book, self.number = book, number
        self.used_by: list[int] = []

    def close(self) -> None:
        self.book.closed.append((self.number, threading.current_thread().name))
        if self.number in self.book.stubborn:
            raise RuntimeError("will not close")


class Book:
    """A factory. `failing` says by number of the call whether it raises."""

    def __init__(self, failing: Callable[[int], bool] = lambda call: False) -> None:
        self.things: list[Thing] = []
        self.closed: list[tuple[int, str]] = []
        self.stubborn: set[int] = set()
        self.calls = 0
        self._failing = failing

    def make(self) -> Thing:
        self.calls += 1
        if self._failing(self.calls - 1):
            raise RuntimeError("no memory")
        self.things.append(Thing(self, len(self.things)))
        return self.things[-1]

    @property
    def numbers(self) -> list[int]:
        """Of what was closed, in order."""
        return [number for number, _ in self.closed]


def engine(book: Book, behave: Behaviour = nothing) -> Probed:
    return probed(ENGINE, behave, resources={"Stream": book.make, "Engine": Book().make})


def outcomes(run: Runtime, count: int) -> Iterator[Any]:
    tickets = [run.submit(index) for index in range(count)]
    return (ticket.exception(timeout=HANG_S) for ticket in tickets)


def unfinished_at(*steps: int, node: str = "work") -> Behaviour:
    def behave(name: str, step: Any, slots: Any) -> None:
        if name == "work":
            slots.streams.used_by.append(step.index)
        if name == node and step.index in steps:
            raise Unfinished("no word from the device")

    return behave


# -- start and end -------------------------------------------------------------------------------------------


def test_slots_are_made_when_the_run_is_entered_and_destroyed_when_it_is_left() -> None:
    book = Book()
    run = engine(book).run()
    assert (book.calls, run.resources()["streams"]) == (0, ResourceCounts(0, 0, 0, 0))
    with run:
        assert run.resources() == {
            "streams": ResourceCounts(2, 0, 0, 2),
            "engine": ResourceCounts(1, 0, 0, 1),
        }
        assert list(outcomes(run, 7)) == [None] * 7
        assert book.closed == []
    assert book.numbers == [1, 0]
    assert run.resources() == {"streams": ResourceCounts(2, 2, 0, 0), "engine": ResourceCounts(1, 1, 0, 0)}
    run.stop()
    assert book.numbers == [1, 0]


def test_nothing_is_destroyed_before_the_nodes_have_stopped() -> None:
    book = Book()
    probes = engine(book)
    seen: list[int] = []
    for node in probes.executor.nodes.values():
        node.stop = lambda: seen.append(len(book.closed))  # type: ignore[method-assign]
    with probes.run() as run:
        run.submit(0).result(timeout=HANG_S)
    assert seen == [0] * 4


def test_a_run_that_is_left_by_an_exception_destroys_its_resources() -> None:
    book = Book()
    with pytest.raises(ZeroDivisionError), engine(book).run():
        raise ZeroDivisionError
    assert sorted(book.numbers) == [0, 1]


def test_a_run_whose_nodes_do_not_start_destroys_its_resources() -> None:
    book = Book()
    probes = engine(book)

    def start(context: Any) -> None:
        raise RuntimeError("no device")

    probes.executor.nodes["work"].start = start  # type: ignore[method-assign]
    with pytest.raises(LifecycleError), probes.run():
        pass
    assert sorted(book.numbers) == [0, 1]


def test_a_factory_that_fails_keeps_the_run_from_starting_and_what_was_made_is_destroyed() -> None:
    book = Book(lambda call: call == 1)
    run = engine(book).run()
    with (
        pytest.raises(BindError, match=r"factory of buffer `streams` failed: RuntimeError\('no memory'\)"),
        run,
    ):
        pass
    assert book.numbers == [0]
    assert run.resources()["streams"] == ResourceCounts(1, 1, 0, 0)


def test_a_resource_that_does_not_close_is_told_at_the_end_of_the_run() -> None:
    book = Book()
    book.stubborn = {0}
    with (
        pytest.raises(LifecycleError, match="`streams` failed to close") as raised,
        engine(book).run() as run,
    ):
        assert list(outcomes(run, 3)) == [None] * 3
    assert isinstance(raised.value.cause, RuntimeError)
    assert sorted(book.numbers) == [0, 1]
    assert run.resources()["streams"] == ResourceCounts(2, 2, 0, 0)


class Rude(Book):
    """Things whose `close` does what it is told first."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self.act = act

    def make(self) -> Thing:
        thing = super().make()
        closing = thing.close

        def close() -> None:
            closing()
            self.act()

        thing.close = close  # type: ignore[method-assign]
        return thing


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_interrupts_the_destroying_comes_out_once_all_are_destroyed(error: type[BaseException]) -> None:
    """The others used to be left open."""

    def interrupt() -> None:
        if len(book.closed) == 1:
            raise error

    book = Rude(interrupt)
    run = engine(book).run()
    with pytest.raises(error), run:
        run.submit(0).result(timeout=HANG_S)
    assert sorted(book.numbers) == [0, 1]
    assert run.resources() == {"streams": ResourceCounts(2, 2, 0, 0), "engine": ResourceCounts(1, 1, 0, 0)}


def test_a_resource_may_stop_the_run_as_it_closes() -> None:
    """It used to wait for itself."""
    book = Rude(lambda: run.stop())
    run = engine(book).run()
    with run:
        run.submit(0).result(timeout=HANG_S)
    assert sorted(book.numbers) == [0, 1]


def test_a_factory_that_ends_its_thread_loses_the_slot_and_nothing_is_destroyed_twice() -> None:
    def end(call: int) -> bool:
        if call == 2:
            raise SystemExit
        return False

    book = Book(end)
    with engine(book, unfinished_at(1)).run() as run:
        errors = [run.submit(index).exception(timeout=HANG_S) for index in range(6)]
    assert [index for index, error in enumerate(errors) if error is not None] == [1, 3]
    assert sorted(book.numbers) == [0, 1, 2]
    assert run.resources()["streams"] == ResourceCounts(3, 3, 1, 0)


# -- quarantine ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("node", ["work", "tell"])
def test_what_a_step_was_not_proved_to_be_through_with_is_destroyed_and_rebuilt(
    node: str, checked: bool
) -> None:
    book = Book()
    with engine(book, unfinished_at(3, node=node)).run(checked=checked) as run:
        errors = list(outcomes(run, 8))
        assert run.resources()["streams"] == ResourceCounts(3, 1, 1, 2)
        assert book.closed == [(1, "laneflow-recycling")]
    assert [index for index, error in enumerate(errors) if error is not None] == [3]
    assert run.quarantined == [("streams", 1, 3)]
    assert [thing.used_by for thing in book.things] == [[0, 2, 4, 6], [1, 3], [5, 7]]
    assert sorted(book.numbers) == [0, 1, 2]
    assert run.resources()["streams"] == ResourceCounts(3, 3, 1, 0)


def test_steps_that_need_what_cannot_be_rebuilt_fail_until_it_can() -> None:
    book = Book(lambda call: call in (2, 3))  # the rebuilding, and the first time that it is tried again
    with engine(book, unfinished_at(1)).run() as run:
        errors = [run.submit(index).exception(timeout=HANG_S) for index in range(8)]
        assert run.resources()["streams"] == ResourceCounts(3, 1, 1, 2)
    assert [index for index, error in enumerate(errors) if error is not None] == [1, 3, 5]
    lost = errors[3]
    assert isinstance(lost, StepError)
    assert isinstance(lost.cause, ResourceLost)
    assert str(lost.cause) == "slot 1 of `streams` could not be made anew: RuntimeError('no memory')"
    assert run.quarantined == [("streams", 1, 1)]
    assert sorted(book.numbers) == [0, 1, 2]


def test_a_quarantined_resource_that_does_not_close_is_replaced_all_the_same() -> None:
    book = Book()
    book.stubborn = {0}
    run = engine(book, unfinished_at(0)).run()
    with pytest.raises(LifecycleError, match="`streams` failed to close"), run:
        errors = list(outcomes(run, 5))
    assert [error is None for error in errors] == [False, True, True, True, True]
    assert book.numbers.count(0) == 1
    assert run.resources()["streams"] == ResourceCounts(3, 3, 1, 0)


def test_the_books_balance_whatever_fails() -> None:
    seed = 77
    print("seed", seed)
    source = random.Random(seed)
    for _ in range(40):
        failing = {call for call in range(2, 60) if source.random() < 0.3}
        steps = [step for step in range(30) if source.random() < 0.3]
        book = Book(failing.__contains__)
        with engine(book, unfinished_at(*steps)).run(checked=source.random() < 0.5) as run:
            errors = list(outcomes(run, 30))
            rest = run.resources()["streams"]
            assert rest.made == rest.live + rest.retired == len(book.things)
            assert rest.rebuilt == rest.made - 2
            assert rest.retired == len(book.closed)
        for step, error in enumerate(errors):
            assert error is None or isinstance(error.cause, Unfinished | ResourceLost)
            assert error is not None or step not in steps
        end = run.resources()["streams"]
        assert (end.made, end.live) == (end.retired, 0)
        assert sorted(book.numbers) == list(range(len(book.things)))
