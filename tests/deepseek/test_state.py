"""Sizes of the state follow from the configuration alone."""

import pytest
import torch

from deepseek.config import AttentionKind
from deepseek.state import Caches, cache_nbytes
from tests.deepseek.references import model


def test_rings_hold_what_a_step_may_take_back() -> None:
    config = model("a").config
    caches = Caches.allocate(config, capacity=3, context=50, rows_per_step=2)
    assert caches.scrap == 3
    sparse, heavy = caches.layers[2], caches.layers[3]
    assert (config.layers[2].kind, config.layers[3].kind) == (AttentionKind.CSA, AttentionKind.HCA)
    assert [tuple(tensor.shape) for tensor in caches.layers[0].tensors()] == [(4, 17, 32)]
    assert [tuple(tensor.shape) for tensor in sparse.tensors()] == [
        (4, 17, 32),
        (4, 9, 2, 64),
        (4, 13, 32),
        (4, 9, 2, 32),
        (4, 13, 16),
    ]
    assert [tuple(tensor.shape) for tensor in heavy.tensors()] == [(4, 17, 32), (4, 9, 2, 32), (4, 7, 32)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bytes_are_known_without_allocating(dtype: torch.dtype) -> None:
    config = model("b").config
    held = Caches.allocate(config, capacity=5, context=77, rows_per_step=3, dtype=dtype).nbytes
    assert cache_nbytes(config, capacity=5, context=77, rows_per_step=3, dtype=dtype) == held


def test_compressor_inputs_stay_float32() -> None:
    caches = Caches.allocate(model("a").config, capacity=1, context=10, dtype=torch.bfloat16)
    raw = caches.layers[2].raw
    assert raw is not None
    assert raw.dtype == torch.float32
    assert caches.layers[2].window.dtype == torch.bfloat16


def test_sizes_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"context \(0\)"):
        Caches.allocate(model("a").config, capacity=1, context=0)
