"""Copies to the device, work there and copies back, all on the queue: a step's slots hold what is its own.

On a CUDA device: not yet run on hardware.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

from graph import Context, Executor, Runtime, Step, Topology, compile
from nodes import DispatchNode, PrepareNode, ReclaimNode, ReleaseNode
from tests.fakes import topology

GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
ROUNDS = 20
STEPS = 100


class Uploaded(DispatchNode):
    """Copies a slot to the device, works on it there, and copies what comes of it back into another."""

    def start(self, context: Context) -> None:
        assert context.stream is not None
        self.stream, self.device = context.stream, context.device

    def run(self, step: Step, slots: Any) -> None:
        self.stream.enqueue(partial(self._work, slots.inputs.x, slots.outputs.y))

    def _work(self, source: torch.Tensor, target: torch.Tensor) -> None:
        x = source.to(self.device, non_blocking=True)
        for _ in range(ROUNDS):
            x = x * 3 + 1
        target.copy_(x, non_blocking=True)


class Filled(PrepareNode):
    def run(self, step: Step, slots: Any) -> None:
        slots.inputs.x.fill_(step.index)


class Told(ReclaimNode):
    def run(self, step: Step, slots: Any) -> tuple[int, int]:
        return int(slots.outputs.y[0]), int(slots.outputs.y[-1])


def copying() -> Topology:
    return topology(
        types={"X": {"x": "int64[100000]"}, "Y": {"y": "int64[100000]"}},
        buffers={
            "inputs": {"type": "X", "slots": 2, "place": "pinned"},
            "outputs": {"type": "Y", "slots": 2, "place": "pinned"},
        },
        nodes={
            "fill": {"kind": "prepare", "acquires": ["inputs"], "writes": ["inputs"]},
            "work": {
                "kind": "dispatch",
                "acquires": ["outputs"],
                "reads": ["inputs"],
                "writes": ["outputs"],
            },
            "tell": {"kind": "reclaim", "reads": ["outputs"], "emits": "results"},
            "free": {"kind": "release", "releases": ["inputs", "outputs"]},
        },
        edges={
            "fill -> work": {"carries": ["inputs"]},
            "work -> tell": {"carries": ["inputs", "outputs"]},
            "tell -> free": {"carries": ["inputs", "outputs"]},
        },
        lanes={
            "host": ["fill"],
            "device": {"nodes": ["work"], "worker": "stream"},
            "output": ["tell", "free"],
        },
    )


def expected(index: int) -> int:
    for _ in range(ROUNDS):
        index = (index * 3 + 1 + 2**63) % 2**64 - 2**63  # int64 wraps
    return index


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
@pytest.mark.parametrize("checked", [False, True])
def test_copies_and_kernels_of_a_run_give_every_step_its_own(device: str, checked: bool) -> None:
    nodes = {"fill": Filled(), "work": Uploaded(), "tell": Told(), "free": ReleaseNode()}
    executor = Executor(nodes)
    with Runtime(
        compile(copying()), executor, device=device, checked=checked, switch_interval_ms=None
    ) as run:
        assert list(run.map(range(STEPS))) == [(expected(step),) * 2 for step in range(STEPS)]
    assert run.held_slots() == []
