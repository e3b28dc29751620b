"""Which workers have the lanes of `stream` is a matter of the file: tokens are the same on all of them."""

from __future__ import annotations

import pytest

from deepseek.engine import Engine, Request
from deepseek.pipeline import SIZES, pipeline
from graph import Runtime
from tests.deepseek.scripted import program, told
from tests.deepseek.streaming import Decoding, expected

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.mark.parametrize(
    "lanes",
    [
        ("device",),
        ("copy_in", "device", "copy_out"),
        pytest.param(("copy_in",), marks=pytest.mark.slow),
        pytest.param(("copy_out",), marks=pytest.mark.slow),
        pytest.param(("copy_in", "copy_out"), marks=pytest.mark.slow),
    ],
    ids=",".join,
)
def test_lanes_on_threads_give_the_same(lanes: tuple[str, ...]) -> None:
    found = Decoding("stream", *(f"lanes.{lane}.worker=thread" for lane in lanes), checked=True)
    assert tuple(map(tuple, found.tokens)) == expected()


@pytest.mark.parametrize(
    "topology",
    ["pingpong", *(pytest.param(name, marks=pytest.mark.slow) for name in ("deep", "overlap", "latebind"))],
)
def test_the_device_lane_of_any_topology_may_be_a_stream(topology: str) -> None:
    found = Decoding(topology, "lanes.device.worker=stream", checked=True)
    assert tuple(map(tuple, found.tokens)) == expected()


@pytest.mark.parametrize(
    "buffer",
    [
        "device_inputs",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("device_outputs", "outputs")),
    ],
)
def test_more_slots_of_one_buffer_give_the_same(buffer: str) -> None:
    found = Decoding("stream", f"buffers.{buffer}.slots=3", checked=True)
    assert tuple(map(tuple, found.tokens)) == expected()


@pytest.mark.slow
@pytest.mark.parametrize("lane", ["output", "host"])
def test_the_lanes_of_the_host_may_be_processes(lane: str) -> None:
    requests = [
        Request(prompt, 12) for prompt in ((5, 6, 7, 8), tuple(range(20, 90)), (3,), (9, 4), (11, 12))
    ]

    def decoded(topology: str, *overrides: str) -> list[list[int]]:
        with (
            Runtime(program(topology, *overrides), pipeline(), checked=True, threads=1) as run,
            Engine(run, SIZES) as engine,
        ):
            found = told(engine.generate(requests))
        return [found[str(number)].tokens for number in range(len(requests))]

    assert decoded("stream", f"lanes.{lane}.worker=process") == decoded("pingpong")
