"""Drives a model the way an engine would: prompts in chunks, then tokens one by one, in batches."""

import torch
from torch import Tensor

from deepseek.model import Model
from deepseek.state import Caches
from tests.deepseek.references import CAPACITY, CONTEXT


def fresh_caches(model: Model, *, rows_per_step: int = 1, fill: float = torch.nan) -> Caches:
    """Caches whose memory holds NaN, so that reading what was never written shows."""
    caches = Caches.allocate(model.config, capacity=CAPACITY, context=CONTEXT, rows_per_step=rows_per_step)
    for tensor in caches.tensors():
        tensor.fill_(fill)
    return caches


def prefill(
    model: Model, caches: Caches, prompts: list[Tensor], rows: list[int], chunk: int | None = None
) -> list[Tensor]:
    """Run prompts of any lengths together; logits [L, V] of each."""
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    longest = int(lengths.max())
    width = chunk or longest
    ids = torch.zeros(len(prompts), -(-longest // width) * width, dtype=torch.int64)
    for place, prompt in zip(ids, prompts, strict=True):
        place[: len(prompt)] = prompt
    parts = []
    for start in range(0, longest, width):
        count = (lengths - start).clamp(0, width)
        positions = torch.full_like(lengths, start)
        part = ids[:, start : start + width]
        parts.append(model.logits(model.streams(part, positions, torch.tensor(rows), count, caches)))
    logits = torch.cat(parts, 1)
    return [row[:length] for row, length in zip(logits, lengths, strict=True)]


def decode(
    model: Model, caches: Caches, first: list[int], starts: list[int], rows: list[int], count: int
) -> list[list[int]]:
    """`count` greedy tokens of each request, the first of which is given and stands at `starts`."""
    tokens, row = [torch.tensor(first)], torch.tensor(rows)
    for k in range(count - 1):
        positions = torch.tensor(starts) + k
        logits = model(tokens[-1].unsqueeze(1), positions, row, torch.ones_like(row), caches)
        tokens.append(logits.argmax(-1))
    return torch.stack(tokens, 1).tolist()


def greedy(
    model: Model, caches: Caches, prompts: list[Tensor], rows: list[int], count: int = 64
) -> list[list[int]]:
    """Prompts, then `count` greedy tokens of each."""
    first = [int(logits[-1].argmax()) for logits in prefill(model, caches, prompts, rows)]
    return decode(model, caches, first, [len(prompt) for prompt in prompts], rows, count)
