"""Where training starts from, and how its result is stored."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from deepseek.checkpoint.names import sources
from deepseek.config import ModelConfig
from deepseek.model import Model
from deepseek.model.moe import Router

BALANCE = 1e-3
"""What a step adds to the router bias of an expert that had less than its share, or takes from one that had more."""
FLOAT32 = ("hc", "router", "compressor", "sink")
"""Parts of names of parameters that keep their precision in storage; the other matrices become bfloat16."""


def initialise(model: Model, random: torch.Generator) -> None:
    """Set every parameter, and let gradients reach those that learn by them.

    The routers' biases follow the load instead, and the indexer's choice of entries has no gradient.
    """
    for name, value in model.named_parameters():
        value.copy_(_initial(name, value, model.config, random))
        learns = value.is_floating_point() and not name.endswith("router.bias") and ".indexer." not in name
        value.requires_grad_(learns)


def _initial(name: str, value: Tensor, config: ModelConfig, random: torch.Generator) -> Tensor:
    last = name.rsplit(".", 1)[-1]
    if last == "tid2eid":
        order = torch.rand(value.shape[0], config.n_routed_experts, generator=random).argsort(1)
        return order[:, : value.shape[1]]
    if last == "base":
        return _base(value, config.hc_mult, random)
    if last == "scale" or name.endswith("norm.weight"):
        return torch.ones_like(value)
    if last in ("sink", "bias", "ape"):
        return torch.zeros_like(value)
    drawn = torch.randn(value.shape, generator=random)
    if name == "embed.weight":
        return drawn
    small = last in ("fn", "down") or name.endswith(("wo_b.weight", "shared.w2.weight"))
    return drawn * ((0.3 if small else 1.0) / math.sqrt(value.shape[-1]))


def _base(value: Tensor, streams: int, random: torch.Generator) -> Tensor:
    """Streams that are read unequally, so that they come to differ, and that are hardly mixed."""
    base = torch.randn(value.shape, generator=random) * 0.5
    if len(value) > streams:  # pre, post, and the mixing matrix
        base[2 * streams :] = 3 * torch.eye(streams).flatten()
    return base


@contextmanager
def balance(model: Model) -> Iterator[None]:
    """Move the bias of each score router by the load of one pass (arXiv:2408.15664)."""

    def move(router: Router, _: object, chosen: tuple[Tensor, Tensor]) -> None:
        if router.bias is not None:
            load = chosen[0].flatten().bincount(minlength=len(router.bias)).float()
            router.bias.add_(BALANCE * (load.mean() - load).sign())

    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, Router):
                hooks.callback(module.register_forward_hook(move).remove)
        yield


@torch.no_grad()
def round_weights(model: Model) -> None:
    """Give every parameter the value that it will have when stored and loaded."""
    for name, value in model.named_parameters():
        value.copy_(value.to(_stored_type(name, value)))


def store_weights(model: Model, directory: Path) -> Path:
    """Write model.safetensors, with transformers' names, and released ones for the prediction block; its path."""
    tensors: dict[str, Tensor] = {}
    for name, value in model.state_dict().items():
        source = sources(name, model.config.n_routed_experts).transformers
        value = value.to(_stored_type(name, value))
        if source.single:
            tensors[source.single] = value.contiguous()
        for parts, of_expert in zip(source.stacked, value, strict=bool(source.stacked)):
            for part, half in zip(parts, of_expert.chunk(len(parts)), strict=True):
                tensors[part] = half.contiguous()
    path = directory / "model.safetensors"
    path.write_bytes(save(tensors, metadata={"format": "pt"}))
    return path


def _stored_type(name: str, value: Tensor) -> torch.dtype:
    exact = value.dim() < 2 or not value.is_floating_point() or any(part in name for part in FLOAT32)
    return value.dtype if exact else torch.bfloat16
