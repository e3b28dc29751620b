"""One decode step as a function of tensors, the same for eager running and for compiling ahead of time.

Fused multi-token prediction: the tail and its drafts run through the model together, the drafts that the model would
have drawn itself are committed with it, and the prediction block drafts for the next step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from deepseek.model.network import Model
from deepseek.model.step import Spans
from deepseek.request_rows import owned, read_rows, redirect, write_rows
from deepseek.sampling import sample
from deepseek.state import Caches


class Decoded(NamedTuple):
    """What a decode step yields, under the names of `DecodeOutputs`; B places of R rows each."""

    sampled: Tensor
    """[B, R] int64 tokens committed, then -1; all -1 where the place's generation is not its row's."""
    next: Tensor
    """[B, R] int64 tail and drafts of the next step."""
    positions: Tensor
    """[B] int64 position of that tail."""


def decode_step(model: Model, inputs: Any, state: Any, caches: Caches) -> Decoded:
    """Run the tail and drafts of each place through the model, commit what holds, draft anew.

    A draft holds where it is the token that the model draws itself, with the noise of that position, given what stands
    before. So the tokens are those of decoding one by one, sampled ones too; as a draft is a function of what stands
    before, this is rejection sampling with a point mass for a proposal (Leviathan et al. 2023, arXiv:2211.17192).

    Args:
        model: the network, on the device of `state`; with its prediction block where R > 1.
        inputs: record `DecodeInputs` of the decode topologies, on the host or the device.
        state: record `RequestState`, updated in place.
        caches: updated in place. What rejected drafts leave there cannot be seen and is overwritten.
    """
    device = state.tokens.device
    rows, generation, pages, positions, tokens = (
        tensor.to(device, non_blocking=True)
        for tensor in (inputs.rows, inputs.generation, inputs.pages, inputs.positions, inputs.tokens)
    )
    live = owned(state.generation, rows, generation)
    target = redirect(rows, live, caches.scrap)
    start = torch.where(positions >= 0, positions, read_rows(state.positions, rows))
    tokens = torch.where(tokens >= 0, tokens, read_rows(state.tokens, rows))
    tokens = torch.where(live.unsqueeze(1), tokens, 0)
    start = torch.where(live, start, 0)
    width = tokens.shape[1]
    spans = Spans(start, target, live * width, pages)
    streams = model.streams(tokens, spans, caches)
    drawn = _draw(model.logits(streams), start, rows, state)
    accepted = (drawn[:, :-1] == tokens[:, 1:]).cumprod(1).sum(1)
    count = accepted + 1
    tail = drawn.gather(1, accepted.unsqueeze(1))
    drafts = draft(model, streams, drawn, Spans(start, target, live * count, pages), width - 1, caches)
    decoded = Decoded(
        torch.where(live.unsqueeze(1) & (torch.arange(width, device=device) < count.unsqueeze(1)), drawn, -1),
        torch.cat((tail, drafts), 1),
        start + count,
    )
    write_rows(state.tokens, target, decoded.next)
    write_rows(state.positions, target, decoded.positions)
    write_rows(state.committed, target, read_rows(state.committed, rows) + count)
    return decoded


def draft(
    model: Model, streams: Tensor, following: Tensor, spans: Spans, count: int, caches: Caches
) -> Tensor:
    """Guess the tokens after the last committed one: [B, count] int64, the likeliest each time.

    Args:
        model: the network.
        streams: [B, R, N, D] the main model's, of rows that are committed as far as `spans` counts them.
        following: [B, R] int64, the token after each row.
        spans: where the committed rows stand.
        count: drafts, from 0; those after the first feed the block with its own streams.
        caches: the prediction block's is updated in place.
    """
    drafts: list[Tensor] = []
    while len(drafts) < count:
        predicted = model.predict(streams, following, spans, caches)
        last = spans.last(predicted)
        drafts.append(model.predicted_logits(last).argmax(-1))
        streams, following = last.unsqueeze(1), drafts[-1].unsqueeze(1)
        live = spans.length.clamp(max=1)
        spans = Spans(spans.start + spans.length, spans.rows, live, spans.pages)
    return torch.stack(drafts, 1) if drafts else following[:, :0]


def _draw(logits: Tensor, start: Tensor, rows: Tensor, state: Any) -> Tensor:
    """[B, R] int64: the token that the model draws after each row, of logits `[B, R, V]`."""
    width = logits.shape[1]
    temperature, top_p, seed = (
        read_rows(field, rows).repeat_interleave(width)
        for field in (state.temperature, state.top_p, state.seed)
    )
    positions = start.unsqueeze(1) + torch.arange(1, width + 1, device=start.device)
    drawn = sample(logits.flatten(0, 1), temperature, top_p, seed, positions.flatten())
    return drawn.reshape(-1, width)
