"""What each request reads next, kept on the host for executors that cannot keep it on the device."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from deepseek.request_rows import redirect, write_rows


def keep(tails: Any, inputs: Any, outputs: Any, told: Tensor) -> None:
    """Note `outputs.next` and `outputs.positions` for the rows in `inputs` where `told [n]` is true.

    Args:
        tails: record `HostTails`, updated in place.
        inputs: a record with `rows` and `generation`, `[n]` each.
        outputs: a record with `next [n, rows]` and `positions [n]`.
        told: [n] bool.
    """
    target = redirect(inputs.rows, told, tails.positions.shape[0])
    write_rows(tails.tokens, target, outputs.next)
    write_rows(tails.positions, target, outputs.positions)
    write_rows(tails.generation, target, inputs.generation)
