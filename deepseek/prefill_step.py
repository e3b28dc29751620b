"""One prefill step as a function of tensors: chunks of prompts, and for those that end the whole request state."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from deepseek.decode_step import draft
from deepseek.model.network import Model
from deepseek.model.step import Spans
from deepseek.request_rows import opened, owned, redirect, write_rows
from deepseek.sampling import sample
from deepseek.state import Caches


class Begun(NamedTuple):
    """What a prefill step yields, under the names of `FirstTokens`; P chunks."""

    sampled: Tensor
    """[P] int64 first new tokens; -1 where the prompt goes on or the chunk's generation is not its row's."""
    next: Tensor
    """[P, R] int64 tail and drafts of the first decode step."""
    positions: Tensor
    """[P] int64 position of that tail."""


def prefill_step(model: Model, prompts: Any, state: Any, caches: Caches) -> Begun:
    """Run the chunks through the model; one at position 0 takes its row, one that ends its prompt draws a token.

    Args:
        model: the network, on the device of `state`.
        prompts: record `PromptChunks` of the decode topologies, on the host or the device.
        state: record `RequestState`, updated in place.
        caches: updated in place.
    """
    device = state.tokens.device
    rows, generation, start, length, following, tokens, pages, temperature, top_p, seed = (
        tensor.to(device, non_blocking=True)
        for tensor in (
            prompts.rows,
            prompts.generation,
            prompts.positions,
            prompts.length,
            prompts.following,
            prompts.tokens,
            prompts.pages,
            prompts.temperature,
            prompts.top_p,
            prompts.seed,
        )
    )
    opens = (start == 0) & opened(state.generation, rows, generation)
    live = opens | owned(state.generation, rows, generation)
    target = redirect(rows, live, caches.scrap)
    for field, values in (
        (state.generation, generation),
        (state.temperature, temperature),
        (state.top_p, top_p),
        (state.seed, seed),
    ):
        write_rows(field, target, values)
    spans = Spans(start, target, torch.where(live, length, 0), pages)
    streams = model.streams(tokens, spans, caches)
    end = start + length
    first = sample(model.logits(spans.last(streams)), temperature, top_p, seed, end)
    upcoming = torch.where(following >= 0, following, first).unsqueeze(1)
    last = (length - 1).clamp(min=0).unsqueeze(1)
    after = tokens.roll(-1, 1).scatter(1, last, upcoming)
    drafts = draft(model, streams, after, spans, state.tokens.shape[1] - 1, caches)
    ends = live & (following < 0)
    done = redirect(rows, ends, caches.scrap)
    begun = Begun(torch.where(ends, first, -1), torch.cat((first.unsqueeze(1), drafts), 1), end)
    write_rows(state.tokens, done, begun.next)
    write_rows(state.positions, done, end)
    write_rows(state.committed, done, torch.ones_like(end))
    return begun
