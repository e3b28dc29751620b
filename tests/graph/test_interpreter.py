"""The switch interval and the collector: changed while runs live, shared between them, restored by the
last."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from graph.interpreter import SHORTEST_MS, steady
from tests.fakes import probed


@pytest.fixture(autouse=True)
def _from_5_ms() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.005)
    yield
    assert sys.getswitchinterval() == pytest.approx(0.005)
    assert gc.get_freeze_count() == 0
    sys.setswitchinterval(before)


def interval_ms() -> float:
    return sys.getswitchinterval() * 1000


def test_the_interval_holds_for_the_scope_and_old_objects_are_frozen() -> None:
    with steady(0.5):
        assert interval_ms() == pytest.approx(0.5)
        assert gc.get_freeze_count() > 0
    assert interval_ms() == pytest.approx(5)
    assert gc.get_freeze_count() == 0


def test_of_several_scopes_the_shortest_interval_holds() -> None:
    with steady(1):
        with steady(0.2):
            assert interval_ms() == pytest.approx(0.2)
            with steady(2):
                assert interval_ms() == pytest.approx(0.2)
        assert interval_ms() == pytest.approx(1)
        assert gc.get_freeze_count() > 0


def test_scopes_need_not_end_in_the_order_in_which_they_began() -> None:
    first, second = steady(0.2), steady(1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert interval_ms() == pytest.approx(1)
    second.__exit__(None, None, None)
    assert interval_ms() == pytest.approx(5)


def test_a_longer_interval_than_the_programs_own_is_not_imposed() -> None:
    sys.setswitchinterval(0.0001)
    try:
        with steady(0.5):
            assert interval_ms() == pytest.approx(0.1, abs=0.002)
    finally:
        sys.setswitchinterval(0.005)


def test_none_leaves_the_interval_alone() -> None:
    with steady(None):
        assert interval_ms() == pytest.approx(5)
        sys.setswitchinterval(0.003)
        with steady(None):
            assert interval_ms() == pytest.approx(3)
        assert interval_ms() == pytest.approx(3)
    sys.setswitchinterval(0.005)


def test_a_scope_without_interval_does_not_hold_that_of_another() -> None:
    """It used to take the shortened interval for the program's own and keep it."""
    other = steady(0.5)
    other.__enter__()
    with steady(None):
        other.__exit__(None, None, None)
        assert interval_ms() == pytest.approx(5)


@pytest.mark.parametrize("microseconds", [99, 100, 333, 4999])
def test_any_interval_is_restored_exactly(microseconds: int) -> None:
    """Restoring used to lose a microsecond each time."""
    sys.setswitchinterval((microseconds + 0.1) / 1e6)
    before = sys.getswitchinterval()
    try:
        for _ in range(3):
            with steady(0.05):
                pass
        assert sys.getswitchinterval() == before
    finally:
        sys.setswitchinterval(0.005)


def test_an_exception_restores_as_well() -> None:
    with pytest.raises(ZeroDivisionError), steady(0.5):
        raise ZeroDivisionError


@pytest.mark.parametrize("interval", [0, -1, SHORTEST_MS / 2, float("nan"), float("inf"), True])
def test_an_interval_where_switching_costs_more_than_it_gives_is_refused(interval: float) -> None:
    with pytest.raises(ValueError, match="switch interval"), steady(interval):
        pytest.fail("the block must not run")


def test_scopes_on_many_threads_restore_in_the_end() -> None:
    def scope(number: int) -> None:
        for _ in range(3):
            with steady(0.2 + number / 10):
                pass

    with steady(0.4):  # one collection for all
        threads = [threading.Thread(target=scope, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert interval_ms() == pytest.approx(0.4)


def test_a_run_holds_its_interval_while_it_lives() -> None:
    with probed("sync").run(switch_interval_ms=0.3):
        assert interval_ms() == pytest.approx(0.3)
