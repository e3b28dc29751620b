"""Random requests, aborts, sizes and topologies on a real network: every answer is what its request gets alone."""

from __future__ import annotations

import random
from functools import cache

import pytest

from deepseek.engine import Engine, Request
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from deepseek.steps import Sampling
from graph import Runtime, compile, load
from tests.deepseek.tiny import VOCABULARY, tiny_model

TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind")
QUICK = {(0, "overlap")}
"""With its tokens on the device, and a lag."""
CONTEXT = 64
REQUESTS = 20

network = cache(tiny_model)


def a_request(chance: random.Random) -> Request:
    prompt = tuple(chance.randrange(VOCABULARY) for _ in range(chance.randint(1, 30)))
    warm = chance.random() < 0.3
    sampling = Sampling(0.8, 0.9, chance.randrange(1000)) if warm else Sampling()
    stop = frozenset({chance.randrange(VOCABULARY)}) if chance.random() < 0.3 else frozenset()
    return Request(prompt, chance.randint(1, 24), sampling, stop)


def some_sizes(chance: random.Random) -> Sizes:
    """A batch of four at least, so that products have the same kernel in each."""
    capacity = chance.randint(4, 7)
    sizes = Sizes(
        VOCABULARY,
        context=CONTEXT,
        batch=chance.randint(4, capacity),
        capacity=capacity,
        rows=chance.randint(1, 4),
        packed=chance.randint(1, 3),
        chunk=chance.randint(4, 20),
        page=chance.choice([4, 10, 64]),
        pages=0,
    )
    few = max(sizes.blocks, sizes.pages // chance.randint(1, 3))
    return Sizes(**{**vars(sizes), "pages": few})


def alone(request: Request) -> list[int]:
    sizes = Sizes(VOCABULARY, context=CONTEXT, batch=4, capacity=4, chunk=32)
    with (
        Runtime(compile(load("sync")), executor(network(), sizes), threads=1) as run,
        Engine(run, sizes) as engine,
    ):
        return [event.token for event in engine.generate([request]) if event.token is not None]


@pytest.mark.parametrize(
    ("seed", "topology"),
    [
        pytest.param(seed, topology, marks=() if (seed, topology) in QUICK else pytest.mark.slow)
        for seed in range(12)
        for topology in TOPOLOGIES
    ],
)
def test_every_answer_is_what_the_request_gets_alone(topology: str, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    sizes, waiting = some_sizes(chance), [a_request(chance) for _ in range(REQUESTS)]
    asked: dict[str, Request] = {}
    tokens: dict[str, list[int]] = {}
    finishes: dict[str, str] = {}
    aborted: set[str] = set()
    pipeline = executor(network(), sizes)
    with (
        Runtime(compile(load(topology)), pipeline, threads=1, checked=chance.random() < 0.3) as run,
        Engine(run, sizes) as engine,
    ):

        def send(count: int) -> None:
            for _ in range(min(count, len(waiting))):
                request = waiting.pop()
                name = engine.add(request)
                asked[name], tokens[name] = request, []

        send(5)
        while len(finishes) < len(asked):
            for event in engine.events():
                if event.token is not None:
                    tokens[event.request].append(event.token)
                if event.finish is not None:
                    finishes[event.request] = event.finish
                    send(chance.randint(0, 2))
                if chance.random() < 0.02:
                    victim = chance.choice(list(asked))
                    if engine.abort(victim):
                        aborted.add(victim)
            send(3)
        engine.check_integrity()
    assert run.held_slots() == []
    assert waiting == []
    assert {finishes[name] for name in aborted} <= {"abort"}
    for name, request in asked.items():
        expected = alone(request)
        if name in aborted:
            expected = expected[: len(tokens[name])]
        assert tokens[name] == expected, (name, request)
