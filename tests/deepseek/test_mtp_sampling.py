"""Drafts leave the distribution of sampled tokens as it is."""

from __future__ import annotations

import itertools
from functools import cache

import pytest
import torch

from deepseek.model import Model
from deepseek.model.step import Spans
from deepseek.sizes import Sizes
from deepseek.state import Caches
from deepseek.steps import Sampling
from tests.deepseek.tiny import VOCABULARY, Device, tiny_model

PROMPT = (3, 1, 4, 1, 5)
TEMPERATURE = 0.9
SAMPLES = 4096
BATCH = 512


@cache
def network() -> Model:
    return tiny_model()


def device(drafts: int) -> Device:
    return Device(
        network(), Sizes(VOCABULARY, context=32, batch=BATCH, capacity=BATCH, rows=drafts + 1, page=16)
    )


def draw(drafts: int, count: int, seed: int, samples: int = SAMPLES) -> list[tuple[int, ...]]:
    """`count` tokens of `samples` requests that differ in nothing but their seeds."""
    found = []
    for first in range(seed, seed + samples, BATCH):
        run = device(drafts)
        samplings = [Sampling(TEMPERATURE, 1.0, first + place) for place in range(BATCH)]
        begun = run.prefill([PROMPT] * BATCH, samplings=samplings)
        tokens = [[token] for token in begun.sampled.tolist()]
        while min(map(len, tokens)) < count:
            for mine, more in zip(tokens, run.decode(range(BATCH)).sampled.tolist(), strict=True):
                mine.extend(token for token in more if token >= 0)
        found += [tuple(mine[:count]) for mine in tokens]
    return found


def distribution(tokens: tuple[int, ...]) -> torch.Tensor:
    """The model's own of the next token, all tokens run at once and nothing drafted."""
    caches = Caches.allocate(network().config, capacity=1, context=32)
    zero = torch.zeros(1, dtype=torch.int64)
    spans = Spans(zero, zero, zero + len(tokens), torch.arange(caches.blocks).unsqueeze(0))
    with torch.inference_mode():
        return (network()(torch.tensor([tokens]), spans, caches)[0].double() / TEMPERATURE).softmax(-1)


def chi_square(found: list[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    """In standard deviations above what chance gives, of cells that hold five samples at least."""
    cells = [(found.count(cell), share * len(found)) for cell, share in expected.items()]
    large = [(seen, mean) for seen, mean in cells if mean >= 5]
    rest = [sum(column) for column in zip(*[cell for cell in cells if cell[1] < 5], strict=True)] or [0, 0]
    large += [(rest[0], rest[1])] if rest[1] > 0 else []
    statistic, freedom = sum((seen - mean) ** 2 / mean for seen, mean in large), len(large) - 1
    return (statistic - freedom) / (2 * freedom) ** 0.5


@pytest.mark.parametrize("drafts", [1, 2, 3])
def test_two_sampled_tokens_follow_the_models_distribution(drafts: int) -> None:
    seed = 1000 * drafts
    print(f"seeds {seed} to {seed + SAMPLES}")
    first = distribution(PROMPT)
    by_first = [distribution((*PROMPT, one)) for one in range(VOCABULARY)]
    shares = {
        (one, two): float(first[one] * by_first[one][two])
        for one, two in itertools.product(range(VOCABULARY), repeat=2)
    }
    assert min(float(share) for share in first) > 0.01  # so that the test could see a wrong one
    assert abs(chi_square(draw(drafts, 2, seed), shares)) < 4


def test_sampled_tokens_with_drafts_are_those_without() -> None:
    plain = draw(0, 4, 7, BATCH)
    for drafts in (1, 2, 3):
        assert draw(drafts, 4, 7, BATCH) == plain


def test_some_drafts_of_a_sampled_run_hold_and_some_do_not() -> None:
    run = device(2)
    run.prefill([PROMPT] * BATCH, samplings=[Sampling(TEMPERATURE, 1.0, seed) for seed in range(BATCH)])
    counts = (run.decode(range(BATCH)).sampled >= 0).sum(1)
    assert {1, 2, 3} == set(counts.tolist())
