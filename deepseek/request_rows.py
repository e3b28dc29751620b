"""Reading and writing request rows on the device, by generation; the rows' owner is checked here and nowhere else.

A row's generation is that of the request it belongs to; once the request has retired it is the negative of it, so
that neither an older step nor a late one of the same request finds its row again. The row index `capacity` is no
row: unused places have it, and what is written there is dropped.
"""

from __future__ import annotations

import torch
from torch import Tensor


def owned(generations: Tensor, rows: Tensor, wanted: Tensor) -> Tensor:
    """`[B]` bool: whether each of `rows [B]` still belongs to generation `wanted [B]`, of `generations [capacity]`."""
    return _known(generations, rows) & (_at(generations, rows) == wanted)


def opened(generations: Tensor, rows: Tensor, wanted: Tensor) -> Tensor:
    """`[B]` bool: whether `wanted` is newer than anyone who had the row, so that a first chunk may take it."""
    return _known(generations, rows) & (_at(generations, rows).abs() < wanted)


def redirect(rows: Tensor, live: Tensor, scrap: int) -> Tensor:
    """`rows`, with those that are not live sent to the scrap row."""
    return torch.where(live, rows, scrap)


def write_rows(field: Tensor, rows: Tensor, values: Tensor) -> None:
    """Set `field[rows] = values` in place; index `len(field)` is dropped. Shapes are fixed, whatever is live."""
    padded = torch.cat([field, field.new_zeros(1, *field.shape[1:])])
    padded[rows] = values.to(field.dtype)
    field.copy_(padded[:-1])


def read_rows(field: Tensor, rows: Tensor) -> Tensor:
    """`field[rows]`, with some valid entry where a row is out of range."""
    return _at(field, rows)


def _known(field: Tensor, rows: Tensor) -> Tensor:
    return (rows >= 0) & (rows < field.shape[0])


def _at(field: Tensor, rows: Tensor) -> Tensor:
    return field[rows.clamp(0, field.shape[0] - 1)]
