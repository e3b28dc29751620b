"""The bundled network's compiled step, with other weights than the bundled ones where a test makes its own."""

import os

import pytest
import torch

from deepseek.bundled import PATH
from deepseek.checkpoint import read_config
from deepseek.compiled import Choice, StepShape, cache, choose
from deepseek.model import Model
from deepseek.sizes import Sizes
from deepseek.state import Caches

USER_CACHE = os.environ.get("XDG_CACHE_HOME")
CONFIG = read_config(PATH)
BATCH = 8
SIZES = Sizes(CONFIG.vocab_size, context=256, batch=BATCH, capacity=BATCH, rows=2, chunk=64)
SHAPE = StepShape(CONFIG, SIZES, "float32", 1)
"""What `make run` uses."""


def caches(sizes: Sizes = SIZES) -> Caches:
    return Caches.allocate(
        CONFIG,
        capacity=sizes.capacity,
        context=sizes.context,
        rows_per_step=sizes.rows,
        page=sizes.page,
        pages=sizes.pages,
    )


def network(seed: int) -> Model:
    """The network with weights that make every part matter."""
    model = Model(CONFIG, predicts=True).eval()
    draw = torch.Generator().manual_seed(seed)
    for name, tensor in model.state_dict().items():
        if name.endswith("tid2eid"):
            scores = torch.rand(tensor.shape[0], CONFIG.n_routed_experts, generator=draw)
            tensor.copy_(scores.argsort(-1)[:, : tensor.shape[1]])
        elif tensor.dim() > 1:
            tensor.copy_(torch.randn(tensor.shape, generator=draw) * tensor.shape[-1] ** -0.5 * 1.5)
        else:
            tensor.copy_(torch.randn(tensor.shape, generator=draw) * 0.3 + ("norm" in name))
    return model


@pytest.fixture
def user_cache(no_compiled_steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache of whoever runs the tests, where `make setup` has put a step."""
    if USER_CACHE is None:
        monkeypatch.delenv("XDG_CACHE_HOME")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", USER_CACHE)


@pytest.fixture
def compiled(user_cache: None) -> Choice:
    """The compiled step of `SHAPE`, which `make setup` makes."""
    if cache.find(cache.key(SHAPE)) is None:
        pytest.skip(
            "the step of `make run` is not compiled: make setup does it, where there is a C++ compiler"
        )
    choice = choose(SHAPE, "cpu", "cached")
    assert choice.step is not None, choice.reason
    return choice
