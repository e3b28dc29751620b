"""What one compiled step does to rows, and what it leaves to other threads."""

import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from deepseek.compiled import Choice
from deepseek.compiled.library import BoundStep, LibraryError
from deepseek.compiled.traced import INPUTS, TracedStep
from deepseek.decode_step import decode_step
from deepseek.model import Model
from deepseek.state import Caches
from tests.deepseek.compiled.conftest import BATCH, CONFIG, CONTEXT, network


class Rig:
    """A bound step with its inputs, state and caches."""

    def __init__(self, compiled: Choice, model: Model) -> None:
        assert compiled.step is not None
        self.model = model
        self.caches = Caches.allocate(CONFIG, capacity=BATCH, context=CONTEXT)
        self.state = SimpleNamespace(
            tail=torch.arange(5, 5 + BATCH), generation=torch.arange(1, 1 + BATCH, dtype=torch.int32)
        )
        self.inputs = SimpleNamespace(
            rows=torch.arange(BATCH),
            generation=self.state.generation.clone(),
            positions=torch.zeros(BATCH, dtype=torch.int64),
            tokens=torch.full((BATCH,), -1),
            temperature=torch.zeros(BATCH),
            top_p=torch.ones(BATCH),
            seed=torch.zeros(BATCH, dtype=torch.int64),
        )
        self.sampled = torch.zeros(BATCH, dtype=torch.int64)
        constants = TracedStep(model, self.state, self.caches).constants()
        self.step = BoundStep(compiled.step[0], constants, len(INPUTS) + 1)

    def run(self) -> list[int]:
        self.step.run([*(getattr(self.inputs, name) for name in INPUTS), self.sampled])
        return self.sampled.tolist()


@pytest.fixture
def rig(compiled: Choice) -> Iterator[Rig]:
    made = Rig(compiled, network(6))
    yield made
    made.step.close()


def test_a_stale_generation_writes_nothing_and_yields_nothing(rig: Rig) -> None:
    rig.run()
    rig.inputs.positions.fill_(1)
    rig.inputs.generation[2] -= 1
    before = [tensor[2].clone() for tensor in rig.caches.tensors()], rig.state.tail.clone()
    found = rig.run()
    assert found[2] == -1
    assert min(found[:2] + found[3:]) >= 0
    assert all(torch.equal(old, new[2]) for old, new in zip(before[0], rig.caches.tensors(), strict=True))
    assert rig.state.tail[2] == before[1][2]


def test_an_unused_place_yields_nothing_and_touches_no_row(rig: Rig) -> None:
    rig.inputs.rows.fill_(rig.caches.scrap)
    tails = rig.state.tail.clone()
    assert rig.run() == [-1] * BATCH
    assert torch.equal(rig.state.tail, tails)
    assert all(not tensor[:BATCH].any() for tensor in rig.caches.tensors())


def test_the_tail_moves_on_in_the_row(rig: Rig) -> None:
    assert rig.run() == rig.state.tail.tolist()


def test_a_late_token_of_the_host_goes_before_the_tail(rig: Rig) -> None:
    rig.inputs.tokens[:] = torch.tensor([9, -1, 11, -1] * 2)
    caches, state = (
        Caches.allocate(CONFIG, capacity=BATCH, context=CONTEXT),
        SimpleNamespace(**vars(rig.state)),
    )
    state.tail = torch.tensor([9, 6, 11, 8, 9, 10, 11, 12])
    inputs = SimpleNamespace(**vars(rig.inputs))
    inputs.tokens = torch.full((BATCH,), -1)
    assert rig.run() == decode_step(rig.model, inputs, state, caches).tolist()


def test_the_interpreter_is_free_during_a_compiled_step(rig: Rig) -> None:
    """By each thread's own clock: a step that held the lock would starve the counter, and one that queued for the
    lock at every operation would run a hundred times less than the counter."""
    counter = Counter()
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        counter.start()
        began = time.thread_time()
        for _ in range(300):
            rig.run()
        worked = time.thread_time() - began
    finally:
        sys.setswitchinterval(before)
        counter.stopping = True
        counter.join()
    assert counter.counted > 0
    assert 0.2 * worked < counter.worked < 60 * worked


class Counter(threading.Thread):
    """A thread of pure Python."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.stopping, self.counted, self.worked = False, 0, 0.0

    def run(self) -> None:
        began = time.thread_time()
        while not self.stopping:
            self.counted += 1
        self.worked = time.thread_time() - began


def test_a_constant_that_the_model_lacks_is_named(compiled: Choice) -> None:
    assert compiled.step is not None
    with pytest.raises(LibraryError, match="asks for a constant"):
        BoundStep(compiled.step[0], {}, len(INPUTS) + 1)
