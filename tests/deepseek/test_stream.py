"""On the queues of `stream` every request gets the tokens that it gets on the threads of `pingpong`."""

from __future__ import annotations

import random

import pytest

from deepseek.checkpoint import load_model, read_config
from deepseek.engine import Engine, Request
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from graph import Runtime, load
from graph.lanes.queue import MakeQueue
from graph.topology import Topology
from nodes.misbehaving import Late, misbehaving
from tests.deepseek.references import CONTEXT, reference
from tests.deepseek.scripted import program, told
from tests.deepseek.streaming import REQUESTS, Decoding, expected, model, sizes

pytestmark = pytest.mark.usefixtures("nothing_left")

SHARED = ("type", "slots", "place")


def late(seed: int) -> MakeQueue:
    """Queues on which every third call takes up to 2 ms longer."""
    source = random.Random(seed)
    return misbehaving({call: Late(source.random() * 0.002) for call in range(200) if source.random() < 0.3})


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("rows", [1, 2])
def test_all_routes_give_the_tokens_of_pingpong(rows: int, checked: bool) -> None:
    found = Decoding("stream", rows=rows, checked=checked)
    assert tuple(map(tuple, found.tokens)) == expected(rows)
    steps = found.stats.steps
    assert min(steps[route] for route in ("decode", "prefill", "mixed", "retire")) > 0


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))])
def test_delays_on_the_queues_change_nothing(seed: int) -> None:
    print("seed", seed)
    found = Decoding("stream", checked=True, make_queue=late(seed))
    assert tuple(map(tuple, found.tokens)) == expected()


@pytest.mark.usefixtures("hectic")
def test_an_aborted_request_leaves_the_others_their_tokens() -> None:
    asked = sizes()
    with (
        Runtime(program("stream"), executor(model(), asked), checked=True, make_queue=late(11)) as run,
        Engine(run, asked) as engine,
    ):
        events = []
        for event in engine.generate(REQUESTS):
            if (event.request, event.token is not None) == ("1", True):
                engine.abort("1")
            events.append(event)
    found = told(events)
    assert run.held_slots() == []
    assert found["1"].finish == "abort"
    for number, whole in enumerate(expected()):
        one = found[str(number)]
        assert one.tokens == list(whole[: len(one.tokens)])
        assert number == 1 or len(one.tokens) == len(whole)


def test_the_reference_tokens_are_given() -> None:
    known = reference("b")
    requests = [Request(tuple(prompt.ids.tolist()), 16) for prompt in known.prompts]
    vocab_size = read_config(known.directory).vocab_size
    asked = Sizes(vocab_size, CONTEXT, batch=8, capacity=8, rows=2, packed=2, chunk=48)
    model = load_model(known.directory, capacity=8, context=CONTEXT, rows_per_step=2)
    with Runtime(program("stream"), executor(model, asked), threads=1) as run, Engine(run, asked) as engine:
        found = told(engine.generate(requests))
    assert [found[str(n)].tokens for n in range(len(requests))] == [p.greedy[:16] for p in known.prompts]


def test_what_the_host_shares_with_the_device_is_as_in_pingpong() -> None:
    """Only lanes, copies and who gives back what differ: the buffers that the host's nodes use are the same."""
    base, source = load("pingpong"), load("stream")
    assert {name: kept(base, name) for name in base.buffers} == {
        name: kept(source, name) for name in base.buffers
    }
    assert {name for name in source.buffers if name not in base.buffers} == {
        f"device_{name}" for name, buffer in base.buffers.items() if not buffer.persistent
    }


def kept(topology: Topology, name: str) -> list[object]:
    return [getattr(topology.buffers[name], field) for field in SHARED]
