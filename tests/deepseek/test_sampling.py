"""Tokens are drawn from the right distribution, and a request's tokens are its own."""

import torch
from torch import Tensor

from deepseek.sampling import sample

DRAWS = 20_000


def draw(logits: Tensor, temperature: float, top_p: float, seed: Tensor, position: Tensor) -> Tensor:
    rows = seed.shape[0]
    wide = logits.expand(rows, -1)
    return sample(wide, torch.full((rows,), temperature), torch.full((rows,), top_p), seed, position)


def chi_square(counts: Tensor, expected: Tensor) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


def test_temperature_zero_takes_the_best_whatever_the_seed() -> None:
    logits = torch.tensor([[0.0, 3.0, 1.0], [5.0, 3.0, 1.0]])
    zero, one = torch.zeros(2), torch.ones(2)
    assert sample(logits, zero, one, torch.tensor([1, 2]), torch.tensor([3, 4])).tolist() == [1, 0]


def test_a_greedy_batch_gets_what_it_would_get_beside_a_sampled_request() -> None:
    logits = torch.randn(4, 50, generator=torch.Generator().manual_seed(2)).repeat(
        1, 2
    )  # every logit twice: ties
    zero, one, number = torch.zeros(4), torch.ones(4), torch.arange(4)
    alone = sample(logits, zero, one, number, number)
    beside = sample(logits, torch.tensor([0.0, 0.0, 0.0, 1.0]), one, number, number)
    assert alone[:3].tolist() == beside[:3].tolist()


def test_greedy_and_sampled_requests_share_a_batch() -> None:
    logits = torch.tensor([[0.0, 1.0, 0.5]]).expand(2000, -1)
    temperature = torch.arange(2000) % 2 * 1.0
    found = sample(
        logits, temperature, torch.ones(2000), torch.arange(2000), torch.zeros(2000, dtype=torch.int64)
    )
    assert set(found[::2].tolist()) == {1}
    assert set(found[1::2].tolist()) == {0, 1, 2}


def test_draws_over_positions_follow_the_softmax() -> None:
    logits = torch.tensor([1.0, 0.0, -1.0, 2.0, 0.5])
    expected = (logits / 0.7).softmax(-1) * DRAWS
    found = draw(logits, 0.7, 1.0, torch.full((DRAWS,), 42), torch.arange(DRAWS))
    assert chi_square(torch.bincount(found, minlength=5), expected) < 18.5  # 99.9 % of 4 degrees of freedom


def test_draws_over_seeds_follow_the_softmax() -> None:
    logits = torch.tensor([1.0, 0.0, -1.0, 2.0, 0.5])
    seeds = torch.arange(DRAWS) * 0x1_0000_0001 - 5
    found = draw(logits, 1.0, 1.0, seeds, torch.full((DRAWS,), 9))
    assert chi_square(torch.bincount(found, minlength=5), logits.softmax(-1) * DRAWS) < 18.5


def test_top_p_keeps_the_fewest_tokens_that_reach_it() -> None:
    share = torch.tensor([0.1, 0.4, 0.3, 0.2])
    found = draw(share.log(), 1.0, 0.65, torch.full((DRAWS,), 7), torch.arange(DRAWS))
    counts = torch.bincount(found, minlength=4)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert chi_square(counts[[1, 2]], torch.tensor([4 / 7, 3 / 7]) * DRAWS) < 10.9


def test_tiny_top_p_is_greedy() -> None:
    found = draw(torch.tensor([0.0, 0.2, 0.1]), 1.0, 1e-6, torch.arange(100), torch.arange(100))
    assert set(found.tolist()) == {1}


def test_token_depends_on_seed_and_position_and_nothing_else_of_the_batch() -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(8, 300, generator=generator)
    temperature, top_p = torch.full((8,), 1.3), torch.linspace(0.5, 1.0, 8)
    seed, position = torch.arange(8) + 100, torch.arange(8) * 7
    together = sample(logits, temperature, top_p, seed, position)
    order = torch.tensor([5, 2, 7, 0])
    some = sample(logits[order], temperature[order], top_p[order], seed[order], position[order])
    assert torch.equal(some, together[order])


def test_neighbouring_positions_draw_independently() -> None:
    found = draw(torch.zeros(4), 1.0, 1.0, torch.full((DRAWS + 1,), 5), torch.arange(DRAWS + 1))
    pairs = torch.bincount(found[:-1] * 4 + found[1:], minlength=16)
    assert chi_square(pairs, torch.full((16,), DRAWS / 16)) < 37.7  # 99.9 % of 15 degrees of freedom


def test_draws_are_fixed_for_good() -> None:
    """A stored seed must give the same text after an upgrade."""
    found = draw(torch.zeros(1000), 1.0, 1.0, torch.full((6,), 2024), torch.arange(6))
    assert found.tolist() == [173, 331, 937, 555, 288, 48]
