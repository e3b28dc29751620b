"""One decode step as a function of tensors, the same for eager running and for compiling ahead of time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepseek.model.network import Model
from deepseek.request_rows import owned, read_rows, redirect, write_rows
from deepseek.sampling import sample
from deepseek.state import Caches


def decode_step(model: Model, inputs: Any, state: Any, caches: Caches) -> Tensor:
    """Run one token of each place through the model and sample the next, which becomes the row's tail.

    Args:
        model: the network, on the device of `state`.
        inputs: record `DecodeInputs` of the decode topologies, `[B]` each, on the host or the device.
        state: record `RequestState`, `[capacity]` each; `tail` is updated in place.
        caches: updated in place.

    Returns:
        [B] int64 sampled tokens; -1 where the place's generation is not its row's: it ran on the scrap row.
    """
    device = state.tail.device
    rows, generation, positions = (
        tensor.to(device, non_blocking=True) for tensor in (inputs.rows, inputs.generation, inputs.positions)
    )
    live = owned(state.generation, rows, generation)
    target = redirect(rows, live, caches.scrap)
    late = inputs.tokens.to(device, non_blocking=True)
    tokens = torch.where(late >= 0, late, read_rows(state.tail, rows))
    tokens = torch.where(live, tokens, 0)
    logits = model(tokens[:, None], positions, target, live.long(), caches)
    sampled = sample(
        logits,
        inputs.temperature.to(device, non_blocking=True),
        inputs.top_p.to(device, non_blocking=True),
        inputs.seed.to(device, non_blocking=True),
        positions + 1,
    )
    write_rows(state.tail, target, sampled)
    return torch.where(live, sampled, -1)
