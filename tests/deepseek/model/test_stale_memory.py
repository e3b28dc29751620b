"""What a rejected row wrote is as good as unwritten: it may be NaN, and nothing changes to the last bit."""

from random import Random

import pytest
import torch
from torch import Tensor

from deepseek.config import LayerConfig
from deepseek.model import Model
from deepseek.model.step import Spans
from deepseek.state import Caches, LayerCache
from tests.deepseek.driving import fresh_caches, spans
from tests.deepseek.references import model, predicted

ROWS = (7, 2)
STARTS = {"a": (29, 11), "b": (29, 11), "real_rates": (119, 103)}
"""Of the first step: soon to close windows and pages, each at another time."""


@pytest.mark.parametrize("early", [False, True], ids=["pages for all rows", "pages for what holds"])
@pytest.mark.parametrize("width", [2, *(pytest.param(width, marks=pytest.mark.slow) for width in (3, 4))])
@pytest.mark.parametrize("name", ["a", "b", pytest.param("real_rates", marks=pytest.mark.slow)])
def test_cells_that_rejected_rows_wrote_may_hold_anything(name: str, width: int, early: bool) -> None:
    network, seed = model(name, predicts=True), 10 * width + early
    print(f"{seed=}")
    clean = fresh_caches(network, rows_per_step=width, fill=0.0)
    stale = fresh_caches(network, rows_per_step=width, fill=torch.nan)
    expected = run(name, clean, width, early, Random(seed), poison=False)
    found = run(name, stale, width, early, Random(seed), poison=True)
    for step, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        assert theirs.isfinite().all()
        assert torch.equal(mine, theirs), f"{step=}"


def run(name: str, caches: Caches, width: int, early: bool, random: Random, *, poison: bool) -> list[Tensor]:
    """Logits of prompts, then of steps of which a random part holds, each with further drafts to follow."""
    network, known = model(name, predicts=True), [each.ids for each in predicted(name)[-2:]]
    starts, rows = torch.tensor(STARTS[name]), torch.tensor(ROWS)
    whole = torch.stack([ids[: max(STARTS[name]) + 1] for ids in known])
    places = spans(caches, torch.zeros_like(starts), rows, starts)
    streams = network.streams(whole[:, :-1], places, caches)
    seen = [
        network.logits(places.last(streams)),
        *further(network, caches, streams, whole[:, 1:], places, width),
    ]
    while all(start + width < len(ids) for ids, start in zip(known, starts.tolist(), strict=True)):
        counts = torch.tensor([random.randint(1, width) for _ in known])
        ids = torch.stack([ids[start : start + width + 1] for ids, start in zip(known, starts, strict=True)])
        wrong = torch.arange(width + 1) >= counts.unsqueeze(1)
        ids = torch.where(wrong, (ids + 7) % network.config.vocab_size, ids)
        held = spans(caches, starts, rows, counts)
        places = spans(caches, starts, rows, torch.full_like(starts, width))
        if early:
            places = Spans(starts, rows, places.length, held.pages)
        streams = network.streams(ids[:, :-1], places, caches)
        seen += [network.logits(streams), *further(network, caches, streams, ids[:, 1:], held, width)]
        if poison:
            forget(network, caches, places, counts)
        starts = starts + counts
    return seen


def further(
    network: Model, caches: Caches, streams: Tensor, following: Tensor, held: Spans, width: int
) -> list[Tensor]:
    """The prediction block's logits of the rows that hold, and of its own drafts at the positions after them."""
    seen = []
    for _ in range(width - 1):
        predicted = held.last(network.predict(streams, following, held, caches))
        seen.append(network.predicted_logits(predicted))
        streams, following = predicted.unsqueeze(1), seen[-1].argmax(-1, keepdim=True)
        held = Spans(held.start + held.length, held.rows, torch.ones_like(held.length), held.pages)
    return seen


def forget(network: Model, caches: Caches, places: Spans, counts: Tensor) -> None:
    """Overwrite what the rows after the first `counts` of a step wrote, and scrap."""
    for tensor in caches.tensors():
        tensor[-1] = torch.nan
    fields = (places.rows, places.pages, places.start + counts, places.start + places.length)
    for row, table, start, end in zip(*(field.tolist() for field in fields), strict=True):
        for layer, cache in zip(network.config.layers, caches.layers, strict=True):
            forget_rows(cache, row, range(start, end))
            forget_entries(caches, layer, cache, table, range(start, end))
        assert caches.prediction is not None
        # The block runs rows that hold, then all its drafts but the last.
        forget_rows(caches.prediction, row, range(start, start + caches.rows_per_step - 2))


def forget_rows(cache: LayerCache, row: int, positions: range) -> None:
    for ring in (cache.window, cache.raw, cache.index_raw):
        if ring is not None:
            slots = [position % ring.shape[1] for position in positions]
            assert ring[row, slots].isfinite().all(), "no row wrote that"
            ring[row, slots] = torch.nan


def forget_entries(
    caches: Caches, layer: LayerConfig, cache: LayerCache, table: list[int], positions: range
) -> None:
    for position in positions:
        if cache.entries is None or (position + 1) % layer.rate:
            continue
        block, slot = divmod(position // layer.rate, -(-caches.page // layer.rate))
        if table[block] == caches.scrap_page:
            continue
        for entries in (cache.entries, cache.index_keys):
            if entries is not None:
                assert entries[table[block], slot].isfinite().all(), "no row wrote that"
                entries[table[block], slot] = torch.nan
