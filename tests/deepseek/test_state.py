"""Sizes of the state follow from the configuration alone."""

import math

import pytest
import torch

from deepseek.config import AttentionKind
from deepseek.state import Caches, cache_nbytes
from tests.deepseek.references import model


def test_rings_hold_what_a_step_may_take_back() -> None:
    config = model("a").config
    caches = Caches.allocate(config, capacity=3, context=50, rows_per_step=2, page=12)
    assert (caches.scrap, caches.blocks, caches.pages, caches.scrap_page) == (3, 5, 15, 15)
    sparse, heavy = caches.layers[2], caches.layers[3]
    assert (config.layers[2].kind, config.layers[3].kind) == (AttentionKind.CSA, AttentionKind.HCA)
    assert [tuple(tensor.shape) for tensor in caches.layers[0].tensors()] == [(4, 17, 32)]
    assert [tuple(tensor.shape) for tensor in sparse.tensors()] == [
        (4, 17, 32),
        (4, 9, 2, 64),
        (16, 3, 32),
        (4, 9, 2, 32),
        (16, 3, 16),
    ]
    assert [tuple(tensor.shape) for tensor in heavy.tensors()] == [(4, 17, 32), (4, 9, 2, 32), (16, 2, 32)]
    assert caches.prediction is not None
    assert [tuple(tensor.shape) for tensor in caches.prediction.tensors()] == [(4, 17, 32)]


@pytest.mark.parametrize("rate", [1, 2, 3, 4, 5, 8, 16, 127, 128])
def test_no_entry_needs_a_page_beyond_those_of_its_tokens(rate: int) -> None:
    """Also where the rate does not divide the page, or is larger."""
    tokens = torch.arange(rate, 600)
    last = tokens // rate - 1
    for page in range(1, 200):
        per = math.ceil(page / rate)
        assert (last // per < (tokens + page - 1) // page).all(), f"{page=}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bytes_are_known_without_allocating(dtype: torch.dtype) -> None:
    config = model("b").config
    held = Caches.allocate(config, capacity=5, context=77, rows_per_step=3, page=9, pages=4, dtype=dtype)
    known = cache_nbytes(config, capacity=5, context=77, rows_per_step=3, page=9, pages=4, dtype=dtype)
    assert known == held.nbytes


def test_compressor_inputs_stay_float32() -> None:
    caches = Caches.allocate(model("a").config, capacity=1, context=10, dtype=torch.bfloat16)
    raw = caches.layers[2].raw
    assert raw is not None
    assert raw.dtype == torch.float32
    assert caches.layers[2].window.dtype == torch.bfloat16


def test_sizes_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"context \(0\)"):
        Caches.allocate(model("a").config, capacity=1, context=0)
    with pytest.raises(ValueError, match=r"pages \(0\)"):
        Caches.allocate(model("a").config, capacity=1, context=10, pages=0)
