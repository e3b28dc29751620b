"""What the tests of runs share; imported lazily, since the tests of rules do without torch."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def collected() -> Iterator[None]:
    """One garbage collection for the runs of a module instead of one each: a live scope spares the nested
    ones."""
    from graph.interpreter import steady

    with steady(None):
        yield


@pytest.fixture
def nothing_left(collected: None) -> Iterator[None]:
    """A run must leave no lane behind, and the interpreter as it was."""
    from tests.fakes import lanes_alive

    interval, frozen = sys.getswitchinterval(), gc.get_freeze_count()
    yield
    assert lanes_alive() == []
    assert sys.getswitchinterval() == interval
    assert (gc.get_freeze_count() > 0) == (frozen > 0)


@pytest.fixture
def hectic(nothing_left: None) -> Iterator[None]:
    """Threads take turns as often as the interpreter can make them; runs must leave the interval alone."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
