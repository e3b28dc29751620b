"""Workers are there before the first run, and a run of any length makes nothing more."""

from __future__ import annotations

import gc
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
import torch

from graph import Runtime
from tests.fakes import HANG_S
from tests.nodes.chip_run.driving import BookedChip, doubled, run_of, start

pytestmark = pytest.mark.usefixtures("nothing_left")

WORKERS = {
    "laneflow-preparation",
    "laneflow-device",
    "laneflow-device-queue",
    "laneflow-device-completion",
    "laneflow-completion",
    "laneflow-retirement",
}
KINDS = (
    torch.Tensor,
    type(threading.Lock()),
    type(threading.RLock()),
    threading.Event,
    threading.Condition,
    threading.Thread,
    queue.SimpleQueue,
)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The name of every thread that is started."""
    names: list[str] = []
    original = threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        names.append(thread.name)
        original(thread)

    monkeypatch.setattr(threading.Thread, "start", noted)
    return names


def drive(run: Runtime, steps: int) -> None:
    for step, result in enumerate(run.map(run_of(step) for step in range(steps))):
        assert doubled(result) == 2.0 * (step + 1)


def alive() -> Counter[str]:
    """How many objects of each kind have been made since the run began and are still there."""
    gc.collect()
    return Counter(kind.__name__ for one in gc.get_objects() for kind in KINDS if issubclass(type(one), kind))


def test_all_workers_are_there_before_the_first_run_is_submitted(started: list[str]) -> None:
    with closing(BookedChip()) as chip, start(chip) as run:
        assert set(started) == WORKERS
        assert len(started) == len(WORKERS)
        assert {thread.name for thread in threading.enumerate()} >= WORKERS
        drive(run, 50)
        assert len(started) == len(WORKERS)


def test_nothing_is_created_in_the_steady_loop(started: list[str]) -> None:
    with closing(BookedChip()) as chip, start(chip, record=False, checked=False, queue=2) as run:
        drive(run, 50)
        threads, made = threading.enumerate(), run.resources()
        before = alive()
        drive(run, 400)
        assert alive() == before
        assert threading.enumerate() == threads
        assert run.resources() == made
        assert len(started) == len(WORKERS)
    assert (chip.streams_made, chip.executors_made) == (2, 1)
    assert chip.launched == [0, 1] * 225


@pytest.mark.parametrize(
    "make", [torch.Tensor, threading.Lock, threading.Event, threading.Condition, queue.SimpleQueue]
)
def test_what_is_kept_alive_is_counted(make: Callable[[], object]) -> None:
    before = alive()
    kept = [make() for _ in range(3)]
    assert (alive() - before)[type(kept[0]).__name__] == len(kept)


def test_the_native_executor_is_made_once_and_used_by_every_run() -> None:
    with closing(BookedChip()) as chip, start(chip) as run:
        executors = {id(run.pools["executor"].slots[0])}
        for step in range(20):
            run.submit(run_of(step)).result(timeout=HANG_S)
            executors.add(id(run.pools["executor"].slots[0]))
        assert len(executors) == 1
        assert run.resources()["executor"].made == 1
