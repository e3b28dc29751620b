"""Drives a model the way an engine would: prompts in chunks, then tokens one by one, in batches."""

import torch
from torch import Tensor

from deepseek.model import Model
from deepseek.model.step import Spans
from deepseek.state import Caches
from tests.deepseek.references import CAPACITY, CONTEXT, PAGE


def fresh_caches(
    model: Model, *, rows_per_step: int = 1, page: int = PAGE, fill: float = torch.nan
) -> Caches:
    """Caches whose memory holds NaN, scrap too, so that reading what was never written shows."""
    caches = Caches.allocate(
        model.config, capacity=CAPACITY, context=CONTEXT, rows_per_step=rows_per_step, page=page
    )
    for tensor in caches.tensors():
        tensor.fill_(fill)
    return caches


def spans(caches: Caches, starts: Tensor, rows: Tensor, lengths: Tensor) -> Spans:
    """Rows of requests that have the pages they need and no more; no request's pages stand together."""
    count, blocks = caches.capacity, caches.blocks
    table = torch.randperm(caches.pages, generator=torch.Generator().manual_seed(5))
    table = torch.cat((table.reshape(count, blocks), torch.full((1, blocks), caches.scrap_page)))
    had = torch.arange(blocks) * caches.page < (starts + lengths).unsqueeze(1)
    return Spans(starts, rows, lengths, torch.where(had, table[rows], caches.scrap_page))


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
        places = spans(caches, torch.full_like(lengths, start), torch.tensor(rows), count)
        parts.append(model.logits(model.streams(ids[:, start : start + width], places, caches)))
    logits = torch.cat(parts, 1)
    return [row[:length] for row, length in zip(logits, lengths, strict=True)]


def decode(
    model: Model, caches: Caches, first: list[int], starts: list[int], rows: list[int], count: int
) -> list[list[int]]:
    """`count` greedy tokens of each request, the first of which is given and stands at `starts`."""
    tokens, row = [torch.tensor(first)], torch.tensor(rows)
    for k in range(count - 1):
        places = spans(caches, torch.tensor(starts) + k, row, torch.ones_like(row))
        logits = model(tokens[-1].unsqueeze(1), places, caches)
        tokens.append(logits.argmax(-1))
    return torch.stack(tokens, 1).tolist()


def greedy(
    model: Model, caches: Caches, prompts: list[Tensor], rows: list[int], count: int = 64
) -> list[list[int]]:
    """Prompts, then `count` greedy tokens of each."""
    first = [int(logits[-1].argmax()) for logits in prefill(model, caches, prompts, rows)]
    return decode(model, caches, first, [len(prompt) for prompt in prompts], rows, count)
