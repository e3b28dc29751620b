"""A device call is put on the lane's queue, or has ended when it returns; it takes the copy on the device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from graph.lanes.cpu_queue import CpuQueue
from graph.node import Context, Ports
from nodes.device_call import DeviceCall, staged, tensors
from tests.fakes import HANG_S

pytestmark = pytest.mark.usefixtures("nothing_left")


class Timed:
    """A step that notes what it is told of the device's time."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def device_time(self, nanoseconds: int) -> None:
        self.told.append(nanoseconds)


def context(stream: CpuQueue | None = None, **slots: int) -> Context:
    return Context("work", {}, (), "cpu", {}, stream, slots)


def test_off_a_queue_the_work_is_done_and_its_time_is_told() -> None:
    step, done = Timed(), list[bool]()
    DeviceCall(context())(step, lambda: done.append(torch.is_inference_mode_enabled()))  # type: ignore[arg-type]
    assert done == [True]
    assert len(step.told) == 1


def test_on_a_queue_the_work_waits_its_turn_and_the_queue_has_the_time() -> None:
    queue, step, done = CpuQueue("lane"), Timed(), list[bool]()
    try:
        queue.busy(0.05)
        DeviceCall(context(queue))(step, lambda: done.append(torch.is_inference_mode_enabled()))  # type: ignore[arg-type]
        assert done == []
        assert queue.mark().wait(HANG_S)
    finally:
        queue.close()
    assert (done, step.told) == ([True], [])


def test_what_the_work_raises_comes_at_once_or_from_the_mark() -> None:
    def fails() -> None:
        raise ValueError("bad work")

    with pytest.raises(ValueError, match="bad work"):
        DeviceCall(context())(Timed(), fails)  # type: ignore[arg-type]
    queue = CpuQueue("lane")
    try:
        DeviceCall(context(queue))(Timed(), fails)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="bad work"):
            queue.mark().wait(HANG_S)
    finally:
        queue.close()


@pytest.mark.parametrize(
    ("given", "chosen", "copied"),
    [
        (("inputs",), "inputs", False),
        (("device_inputs",), "device_inputs", True),
        (("inputs", "device_inputs"), "device_inputs", True),
    ],
)
def test_the_copy_on_the_device_is_taken_where_there_is_one(
    given: tuple[str, ...], chosen: str, copied: bool
) -> None:
    call = DeviceCall(context(**dict.fromkeys(given, 2)), "inputs")
    slots: Any = SimpleNamespace(**{name: [("x", name)] for name in given})
    assert call.tensors(slots, "inputs").x == chosen
    assert call.copied is copied


def test_a_node_without_the_buffer_and_its_copy_is_told_what_to_add() -> None:
    with pytest.raises(ValueError, match="`work` uses neither `inputs` nor `device_inputs`: add one of them"):
        DeviceCall(context(outputs=1), "inputs")


def test_staged_ports_may_be_of_either_and_keep_the_rest() -> None:
    plain = Ports(reads=("a", "b.x"), writes=("c",), types={"a": "A", "b": "B", "c": "C"}, emits=True)
    ports = staged(plain, "a", "b")
    assert ports.reads == ("a", "device_a", "b.x", "device_b.x")
    assert ports.writes == ("c",)
    assert ports.types == {"a": "A", "b": "B", "c": "C", "device_a": "A", "device_b": "B"}
    assert ports.optional == {"a", "device_a", "b", "device_b"}
    assert ports.emits


def test_a_records_tensors_outlive_the_call() -> None:
    x = torch.zeros(1)
    assert tensors([("x", x)]).x is x
