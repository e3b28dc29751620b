"""One small network whose step is compiled once, and kept with pytest's own cache between runs."""

import os

import pytest
import torch

from deepseek.compiled import Choice, StepShape, choose
from deepseek.config import AttentionKind, LayerConfig, ModelConfig
from deepseek.model import Model

USER_CACHE = os.environ.get("XDG_CACHE_HOME")
CONTEXT = 256
BATCH = 4

CONFIG = ModelConfig(
    vocab_size=61,
    hidden_size=32,
    num_attention_heads=2,
    head_dim=16,
    qk_rope_head_dim=4,
    q_lora_rank=16,
    o_groups=2,
    o_lora_rank=8,
    sliding_window=12,
    index_n_heads=12,
    index_head_dim=8,
    index_topk=4,
    n_routed_experts=4,
    num_experts_per_tok=2,
    n_shared_experts=1,
    moe_intermediate_size=16,
    routed_scaling_factor=1.5,
    swiglu_limit=10.0,
    hc_mult=2,
    hc_sinkhorn_iters=3,
    hc_eps=1e-6,
    rms_norm_eps=1e-6,
    rope_theta=10000.0,
    compress_rope_theta=160000.0,
    yarn=None,
    max_position_embeddings=4096,
    num_nextn_predict_layers=0,
    bos_token_id=0,
    eos_token_ids=(1,),
    layers=(
        LayerConfig(kind=AttentionKind.CSA, rate=4, hash_routed=True),
        LayerConfig(kind=AttentionKind.HCA, rate=8, hash_routed=False),
    ),
)
SHAPE = StepShape(CONFIG, BATCH, BATCH, CONTEXT, "float32", 1)


def network(seed: int) -> Model:
    """The network with weights that make every part matter."""
    model = Model(CONFIG).eval()
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


@pytest.fixture(scope="session")
def compiled(request: pytest.FixtureRequest) -> Choice:
    """The compiled step of `SHAPE`."""
    assert request.config.cache is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(request.config.cache.mkdir("compiled-steps")))
        choice = choose(SHAPE, "cpu", "compile")
    if "no C++ compiler" in choice.reason:
        pytest.skip("needs a C++ compiler")
    assert choice.step is not None, choice.reason
    return choice


@pytest.fixture
def user_cache(no_compiled_steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache of whoever runs the tests, where `make setup` has put a step."""
    if USER_CACHE is None:
        monkeypatch.delenv("XDG_CACHE_HOME")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", USER_CACHE)
