"""Running whole batches of sequences of one length from empty caches, for training and measuring."""

import torch
from torch import Tensor

from deepseek.model import Model
from deepseek.model.step import Spans
from deepseek.state import Caches


def spans(caches: Caches, start: int, length: int) -> Spans:
    """`length` rows from position `start` on, of every request that the caches have room for."""
    rows = torch.arange(caches.capacity)
    pages = torch.arange(caches.capacity * caches.blocks).reshape(caches.capacity, -1)
    return Spans(torch.full_like(rows, start), rows, torch.full_like(rows, length), pages)


def logits_of_both(model: Model, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Logits of sequences `[B, R + 1]` at all but the last place: the main model's, `[B, R, V]`, of the token at
    the next place, and the prediction block's, of the one after that."""
    count, length = ids.shape[0], ids.shape[1] - 1
    caches = Caches.allocate(model.config, capacity=count, context=length, rows_per_step=2)
    place = spans(caches, 0, length)
    streams = model.streams(ids[:, :-1], place, caches)
    predicted = model.predict(streams, ids[:, 1:], place, caches)
    return model.logits(streams), model.predicted_logits(predicted)


def continue_greedily(model: Model, prompts: Tensor, count: int) -> Tensor:
    """Prompts `[B, P]` with the `count` likeliest tokens after them, one at a time: `[B, P + count]`."""
    caches = Caches.allocate(model.config, capacity=len(prompts), context=prompts.shape[1] + count)
    ids, new = prompts, prompts
    for _ in range(count):
        place = spans(caches, ids.shape[1] - new.shape[1], new.shape[1])
        new = model(new, place, caches).argmax(-1, keepdim=True)
        ids = torch.cat((ids, new), 1)
    return ids
