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
from deepseek.compiled.traced import INPUTS, OUTPUTS, TracedStep
from deepseek.decode_step import decode_step
from deepseek.model import Model
from tests.deepseek.compiled.conftest import BATCH, SIZES, caches, network


class Rig:
    """A bound step with its inputs, outputs, state and caches; each row has its own pages."""

    def __init__(self, compiled: Choice, model: Model) -> None:
        assert compiled.step is not None
        self.model, self.caches = model, caches()
        whole, rows = torch.zeros(BATCH, dtype=torch.int64), SIZES.rows
        self.state = SimpleNamespace(
            tokens=torch.arange(5, 5 + BATCH * rows).reshape(BATCH, rows),
            positions=whole.clone(),
            committed=whole.clone(),
            generation=torch.arange(1, 1 + BATCH, dtype=torch.int32),
            temperature=torch.zeros(BATCH),
            top_p=torch.ones(BATCH),
            seed=whole.clone(),
        )
        self.inputs = SimpleNamespace(
            rows=torch.arange(BATCH),
            generation=self.state.generation.clone(),
            pages=torch.arange(SIZES.pages).reshape(BATCH, SIZES.blocks),
            positions=torch.full((BATCH,), -1),
            tokens=torch.full((BATCH, rows), -1),
        )
        self.outputs = SimpleNamespace(
            sampled=torch.zeros(BATCH, rows, dtype=torch.int64),
            next=torch.zeros(BATCH, rows, dtype=torch.int64),
            positions=whole.clone(),
        )
        constants = TracedStep(model, self.state, self.caches).constants()
        self.step = BoundStep(compiled.step[0], constants, len(INPUTS) + len(OUTPUTS))

    def run(self) -> list[list[int]]:
        inputs = [getattr(self.inputs, name) for name in INPUTS]
        self.step.run([*inputs, *(getattr(self.outputs, name) for name in OUTPUTS)])
        return self.outputs.sampled.tolist()

    def fields(self, row: int) -> list[torch.Tensor]:
        """A copy of all that belongs to a row."""
        first, last = row * SIZES.blocks, (row + 1) * SIZES.blocks
        return [field[row].clone() for field in vars(self.state).values()] + [
            (tensor[row] if tensor.shape[0] == BATCH + 1 else tensor[first:last]).clone()
            for tensor in self.caches.tensors()
        ]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture
def rig(compiled: Choice) -> Iterator[Rig]:
    made = Rig(compiled, network(6))
    yield made
    made.step.close()


def test_a_stale_generation_writes_nothing_and_yields_nothing(rig: Rig) -> None:
    rig.run()
    rig.inputs.generation[2] -= 1
    before, others = rig.fields(2), [rig.fields(row) for row in (1, 3)]
    found = rig.run()
    assert found[2] == [-1] * SIZES.rows
    assert min(tokens[0] for tokens in found[:2] + found[3:]) >= 0
    assert same(rig.fields(2), before)
    assert not any(map(same, (rig.fields(row) for row in (1, 3)), others))


def test_an_unused_place_yields_nothing_and_touches_no_row(rig: Rig) -> None:
    rig.inputs.rows.fill_(rig.caches.scrap)
    before = [rig.fields(row) for row in range(BATCH)]
    assert rig.run() == [[-1] * SIZES.rows] * BATCH
    assert all(map(same, map(rig.fields, range(BATCH)), before))


def test_the_row_moves_on_by_what_was_committed(rig: Rig) -> None:
    for _ in range(3):
        before = rig.state.positions.clone()
        counts = [sum(token >= 0 for token in tokens) for tokens in rig.run()]
        assert (rig.state.positions - before).tolist() == counts
        assert torch.equal(rig.state.tokens, rig.outputs.next)
        assert torch.equal(rig.state.positions, rig.outputs.positions)
    assert rig.state.committed.tolist() == rig.state.positions.tolist()


def test_late_tokens_of_the_host_go_before_those_in_the_row(rig: Rig) -> None:
    late = torch.tensor([[9, 3], [-1, -1], [11, 4], [-1, -1]] * 2)
    rig.inputs.tokens.copy_(late)
    state = SimpleNamespace(**{name: value.clone() for name, value in vars(rig.state).items()})
    state.tokens = torch.where(late >= 0, late, state.tokens)
    inputs = SimpleNamespace(**{**vars(rig.inputs), "tokens": torch.full_like(late, -1)})
    assert rig.run() == decode_step(rig.model, inputs, state, caches()).sampled.tolist()


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
        BoundStep(compiled.step[0], {}, len(INPUTS) + len(OUTPUTS))
