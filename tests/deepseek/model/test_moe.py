"""All ways of running the experts do what the formula says."""

import pytest
import torch
from torch import Tensor

from deepseek.model.moe import Experts, swiglu
from tests.deepseek.references import model


@pytest.fixture
def routed() -> tuple[Experts, Tensor, Tensor, Tensor]:
    """Experts of checkpoint `a`, 5 tokens, 2 picks each; expert 3 is picked by nobody."""
    experts = model("a").layers[3].ffn.experts
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(5, 128, generator=draw)
    picks = torch.tensor([[0, 1], [7, 0], [2, 4], [5, 6], [0, 2]])
    return experts, x, picks, torch.rand(5, 2, generator=draw)


def one_by_one(experts: Experts, x: Tensor, picks: Tensor, weights: Tensor) -> Tensor:
    result = torch.zeros_like(x)
    for token, (chosen, shares) in enumerate(zip(picks.tolist(), weights.tolist(), strict=True)):
        for expert, share in zip(chosen, shares, strict=True):
            inner = swiglu(experts.gate_up[expert] @ x[token], experts.limit)
            result[token] += share * (experts.down[expert] @ inner)
    return result


@pytest.mark.parametrize("way", ["_dense", "_grouped", "_picked"])
def test_each_token_passes_its_picks(way: str, routed: tuple[Experts, Tensor, Tensor, Tensor]) -> None:
    experts, *inputs = routed
    torch.testing.assert_close(
        getattr(experts, way)(*inputs), one_by_one(experts, *inputs), atol=1e-5, rtol=1e-5
    )


def test_gate_is_clamped_above_only_and_up_on_both_sides() -> None:
    gate_up = torch.tensor([50.0, -50.0, 1.0, 1.0, 1.0, 1.0, 50.0, -50.0])
    gate, up = torch.tensor([2.0, -50.0, 1.0, 1.0]), torch.tensor([1.0, 1.0, 2.0, -2.0])
    torch.testing.assert_close(swiglu(gate_up, 2.0), torch.nn.functional.silu(gate) * up)
