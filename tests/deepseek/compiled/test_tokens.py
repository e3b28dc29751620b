"""A compiled step gives the tokens of the eager one, through every topology."""

from dataclasses import replace

import pytest
import torch

from deepseek.compiled import Choice
from deepseek.engine import Engine, Request
from deepseek.model import Model
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from deepseek.state import Caches
from deepseek.steps import Sampling
from graph import Executor, Runtime, compile, load
from graph.errors import LifecycleError
from tests.deepseek.compiled.conftest import BATCH, SIZES, caches, network

TOPOLOGIES = ("pingpong", "overlap", "latebind", "stream")
LENGTHS = (1, 7, 20, 41, 13, 2)


def prompts() -> list[tuple[int, ...]]:
    return [
        tuple((number * 37 + place * 11) % 59 + 2 for place in range(length))
        for number, length in enumerate(LENGTHS)
    ]


def pipeline_of(model: Model, compiled: Choice | None, sizes: Sizes = SIZES) -> Executor:
    """The executor, over caches that hold NaN, so that reading what was never written shows."""

    def unwritten() -> Caches:
        made = caches(sizes)
        for tensor in made.tensors():
            tensor.fill_(torch.nan)
        return made

    return replace(executor(model, sizes, compiled=compiled), resources={"Caches": unwritten})


def tokens(
    topology: str, pipeline: Executor, requests: list[Request], *, checked: bool = False
) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in requests]
    with (
        Runtime(compile(load(topology)), pipeline, threads=1, checked=checked) as run,
        Engine(run, SIZES) as engine,
    ):
        for event in engine.generate(requests):
            assert event.error is None
            assert event.token is not None
            found[int(event.request)].append(event.token)
    return found


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_topology_gives_the_eager_tokens(compiled: Choice, topology: str) -> None:
    model, requests = network(1), [Request(prompt, 48) for prompt in prompts()]
    expected = tokens("sync", pipeline_of(model, None), requests)
    assert len({tuple(one) for one in expected}) == len(requests)
    assert tokens(topology, pipeline_of(model, compiled), requests) == expected


def test_sampled_and_greedy_requests_share_a_compiled_batch(compiled: Choice) -> None:
    model = network(2)
    requests = [
        Request(prompt, 32, Sampling(0.9 * (number % 2), 0.8, number))
        for number, prompt in enumerate(prompts())
    ]
    expected = tokens("sync", pipeline_of(model, None), requests)
    assert tokens("pingpong", pipeline_of(model, compiled), requests) == expected


def test_one_compiled_step_serves_any_weights_of_its_shape(compiled: Choice) -> None:
    requests = [Request(prompt, 24) for prompt in prompts()]
    found = []
    for seed in (3, 4):
        model = network(seed)
        found.append(tokens("sync", pipeline_of(model, compiled), requests))
        assert found[-1] == tokens("sync", pipeline_of(model, None), requests)
    assert found[0] != found[1]


def test_a_checked_run_finds_nothing_in_a_compiled_step(compiled: Choice) -> None:
    model, requests = network(5), [Request(prompt, 12) for prompt in prompts()]
    expected = tokens("sync", pipeline_of(model, None), requests)
    assert tokens("deep", pipeline_of(model, compiled), requests, checked=True) == expected


def test_a_step_compiled_for_another_batch_is_refused_at_start(compiled: Choice) -> None:
    with (
        pytest.raises(LifecycleError, match="other sizes"),
        Runtime(compile(load("sync")), pipeline_of(network(1), compiled, replace(SIZES, batch=BATCH + 1))),
    ):
        pass
