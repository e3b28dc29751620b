"""No lane keeps the history of what it computes: a slot would hold that of every step that wrote to it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.fakes import HANG_S, probed
from tests.graph.lanes.acting import gradients, weigh
from tests.graph.lanes.driving import running
from tests.graph.lanes.streaming import streamed
from tests.graph.lanes.test_process_steps import CROSSING

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_a_lane_in_a_process_computes_without_gradients() -> None:
    with running(CROSSING, ["device"], gradients) as run:
        assert run.submit(0).result(timeout=HANG_S) == {"fill": False, "work": False, "tell": False}


def test_a_lane_on_a_thread_and_a_queue_compute_without_gradients() -> None:
    seen: list[bool] = []

    def behave(node: str, index: Any, tensors: Any) -> None:
        seen.append(torch.is_grad_enabled())

    for probes in (probed("pingpong", behave), streamed("pingpong", None, behave)):
        with probes.run() as run:
            run.submit(0).result(timeout=HANG_S)
    assert seen == [False] * 10
    assert torch.is_grad_enabled()  # here it was left alone


def test_a_slot_that_learnable_weights_were_written_to_has_no_history() -> None:
    """It used to, and a run's memory grew with every step."""
    with running(CROSSING, ["out"], weigh, torch.nn.Linear(3, 3)) as run:
        for index in range(4):
            run.submit(index).result(timeout=HANG_S)
        assert [slot["y"].requires_grad for slot in run.pools["box"].slots] == [False, False]
