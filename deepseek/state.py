"""Attention state of all requests, preallocated and addressed by position.

Window keys and compressor inputs stand in rings, one per request row: position t in slot `t mod ring`. Compressed
entries stand in pages: a page stands for `page` consecutive positions of one request, in all layers at once, so one
table says where a request's entries are. Entry w of a layer of rate r closes with position `r * (w + 1) - 1` and is
in block `w // per`, slot `w % per`, with `per = ceil(page / r)`. As `r * per >= page`, a request of T tokens has no
entry beyond block `ceil(T / page) - 1`, whatever page and rate are; nothing is wasted where r divides page.

Nothing counts entries and nothing is ever cleared: what a query may see follows from its position alone, so what an
earlier request or a rejected draft left is unreachable until it is overwritten. It may be NaN.
"""

import math
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from deepseek.config import AttentionKind, LayerConfig, ModelConfig


@dataclass(frozen=True)
class LayerCache:
    """State of one layer. The last row of a ring and the last page are scrap."""

    window: Tensor
    """[rows, ring, head_dim] rotated window keys (which are also the values)."""
    raw: Tensor | None = None
    """[rows, ring, 2, width] float32 compressor inputs (value, gate); width is head_dim, doubled for CSA."""
    entries: Tensor | None = None
    """[pages, per, head_dim] compressed keys."""
    index_raw: Tensor | None = None
    """[rows, ring, 2, 2 * index_head_dim] float32 inputs of the indexer's compressor (CSA)."""
    index_keys: Tensor | None = None
    """[pages, per, index_head_dim] the indexer's compressed keys (CSA)."""

    def tensors(self) -> list[Tensor]:
        """The tensors that exist for this kind of layer, in field order."""
        return [value for field in fields(self) if (value := getattr(self, field.name)) is not None]


@dataclass(frozen=True)
class Caches:
    """State of `capacity` request rows and `pages` pages, plus one of each to which unwanted writes are sent."""

    layers: tuple[LayerCache, ...]
    capacity: int
    context: int
    """Most tokens a request may have, prompt and output together."""
    rows_per_step: int
    """Rows per request of a decode step; the next step may take back all but the first (2: one draft)."""
    page: int
    """Positions that a page stands for."""
    pages: int
    prediction: LayerCache | None = None
    """State of the prediction block, where steps have drafts."""

    @classmethod
    def allocate(
        cls,
        config: ModelConfig,
        *,
        capacity: int,
        context: int,
        rows_per_step: int = 1,
        page: int = 64,
        pages: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Self:
        """Allocate the state of every layer; `pages` None is as many as all rows may need.

        Raises:
            ValueError: capacity, context, rows_per_step, page or pages is not positive.
        """
        if min(capacity, context, rows_per_step, page, 1 if pages is None else pages) < 1:
            raise ValueError(
                f"capacity ({capacity}), context ({context}), rows_per_step ({rows_per_step}), page ({page}) "
                f"and pages ({pages}) must be positive"
            )
        if pages is None:
            pages = capacity * math.ceil(context / page)
        make = _Allocation(config, capacity + 1, rows_per_step - 1, page, pages + 1, dtype, device)
        layers = tuple(make.layer(layer) for layer in config.layers)
        prediction = LayerCache(make.window()) if rows_per_step > 1 else None
        return cls(layers, capacity, context, rows_per_step, page, pages, prediction)

    @property
    def scrap(self) -> int:
        """Row that absorbs writes of padding; point a batch's unused places at it."""
        return self.capacity

    @property
    def scrap_page(self) -> int:
        """Page that absorbs writes; what a table holds for blocks that a request does not have."""
        return self.pages

    @property
    def blocks(self) -> int:
        """Most pages of one request, and the width of a table."""
        return math.ceil(self.context / self.page)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(tensor.nbytes for tensor in self.tensors())

    def tensors(self) -> list[Tensor]:
        """All tensors, layer by layer, in a fixed order."""
        layers = self.layers if self.prediction is None else (*self.layers, self.prediction)
        return [tensor for layer in layers for tensor in layer.tensors()]


def cache_nbytes(
    config: ModelConfig,
    *,
    capacity: int,
    context: int,
    rows_per_step: int = 1,
    page: int = 64,
    pages: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> int:
    """Bytes that `Caches.allocate` would take, without allocating them."""
    return Caches.allocate(
        config,
        capacity=capacity,
        context=context,
        rows_per_step=rows_per_step,
        page=page,
        pages=pages,
        dtype=dtype,
        device="meta",
    ).nbytes


@dataclass(frozen=True)
class _Allocation:
    config: ModelConfig
    rows: int
    spare: int
    """Ring slots for rows that the next step may take back."""
    page: int
    pages: int
    dtype: torch.dtype
    device: torch.device | str

    def layer(self, layer: LayerConfig) -> LayerCache:
        head, index = self.config.head_dim, self.config.index_head_dim
        if layer.kind is AttentionKind.SLIDING:
            return LayerCache(self.window())
        per = math.ceil(self.page / layer.rate)
        if layer.kind is AttentionKind.HCA:
            return LayerCache(self.window(), self._raw(layer.rate, head), self._keys(self.pages, per, head))
        return LayerCache(
            self.window(),
            self._raw(2 * layer.rate, 2 * head),
            self._keys(self.pages, per, head),
            self._raw(2 * layer.rate, 2 * index),
            self._keys(self.pages, per, index),
        )

    def window(self) -> Tensor:
        return self._keys(self.rows, self.config.sliding_window + self.spare, self.config.head_dim)

    def _raw(self, slots: int, width: int) -> Tensor:
        shape = (self.rows, slots + self.spare, 2, width)
        return torch.zeros(shape, dtype=torch.float32, device=self.device)

    def _keys(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=self.dtype, device=self.device)
