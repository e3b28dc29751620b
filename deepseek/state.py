"""Attention state of all requests, preallocated and addressed by position.

Rings hold the row of position t in slot `t mod ring`; compressed entries hold window w in slot w. Nothing
counts entries and nothing is ever cleared: what a query may see follows from its position alone, so rows left
by an earlier request or by a rejected draft are unreachable until they are overwritten.
"""

import math
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from deepseek.config import AttentionKind, LayerConfig, ModelConfig


@dataclass(frozen=True)
class LayerCache:
    """State of one layer; every tensor's first axis is the request row, the last row being scrap."""

    window: Tensor
    """[rows, ring, head_dim] rotated window keys (which are also the values)."""
    raw: Tensor | None = None
    """[rows, ring, 2, width] float32 compressor inputs (value, gate); width is head_dim, doubled for CSA."""
    entries: Tensor | None = None
    """[rows, entries, head_dim] compressed keys."""
    index_raw: Tensor | None = None
    """[rows, ring, 2, 2 * index_head_dim] float32 inputs of the indexer's compressor (CSA)."""
    index_keys: Tensor | None = None
    """[rows, entries, index_head_dim] the indexer's compressed keys (CSA)."""

    def tensors(self) -> list[Tensor]:
        """The tensors that exist for this kind of layer, in field order."""
        return [value for field in fields(self) if (value := getattr(self, field.name)) is not None]


@dataclass(frozen=True)
class Caches:
    """State of `capacity` request rows plus one scrap row, to which writes that must not be seen are sent."""

    layers: tuple[LayerCache, ...]
    capacity: int
    context: int
    """Most tokens a request may have, prompt and output together."""
    rows_per_step: int
    """Rows per request of a decode step; the next step may take back all but the first (2: one draft)."""

    @classmethod
    def allocate(
        cls,
        config: ModelConfig,
        *,
        capacity: int,
        context: int,
        rows_per_step: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Self:
        """Allocate the state of every layer.

        Raises:
            ValueError: capacity, context or rows_per_step is not positive.
        """
        if min(capacity, context, rows_per_step) < 1:
            raise ValueError(
                f"capacity ({capacity}), context ({context}) and rows_per_step ({rows_per_step}) "
                "must be positive"
            )
        layers = (
            _allocate_layer(config, layer, capacity, context, rows_per_step, dtype, device)
            for layer in config.layers
        )
        return cls(tuple(layers), capacity, context, rows_per_step)

    @property
    def scrap(self) -> int:
        """Row that absorbs writes of padding; point a batch's unused places at it."""
        return self.capacity

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(tensor.nbytes for tensor in self.tensors())

    def tensors(self) -> list[Tensor]:
        """All tensors, layer by layer, in a fixed order."""
        return [tensor for layer in self.layers for tensor in layer.tensors()]


def cache_nbytes(
    config: ModelConfig,
    *,
    capacity: int,
    context: int,
    rows_per_step: int = 1,
    dtype: torch.dtype = torch.float32,
) -> int:
    """Bytes that `Caches.allocate` would take, without allocating them."""
    return Caches.allocate(
        config, capacity=capacity, context=context, rows_per_step=rows_per_step, dtype=dtype, device="meta"
    ).nbytes


def _allocate_layer(
    config: ModelConfig,
    layer: LayerConfig,
    capacity: int,
    context: int,
    rows_per_step: int,
    dtype: torch.dtype,
    device: torch.device | str,
) -> LayerCache:
    rows, spare = capacity + 1, rows_per_step - 1

    def keys(slots: int, width: int) -> Tensor:
        return torch.zeros(rows, slots, width, dtype=dtype, device=device)

    def raw(slots: int, width: int) -> Tensor:
        return torch.zeros(rows, slots, 2, width, dtype=torch.float32, device=device)

    window = keys(config.sliding_window + spare, config.head_dim)
    if layer.kind is AttentionKind.SLIDING:
        return LayerCache(window)
    count = math.ceil(context / layer.rate)
    entries = keys(count, config.head_dim)
    if layer.kind is AttentionKind.HCA:
        return LayerCache(window, raw(layer.rate + spare, config.head_dim), entries)
    ring = 2 * layer.rate + spare
    return LayerCache(
        window,
        raw(ring, 2 * config.head_dim),
        entries,
        raw(ring, 2 * config.index_head_dim),
        keys(count, config.index_head_dim),
    )
