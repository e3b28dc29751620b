"""The prediction block computes what the references say, however its rows are cut into passes."""

from random import Random

import pytest
import torch
from torch import Tensor

from deepseek.model import Model
from deepseek.model.step import Spans
from deepseek.state import Caches
from tests.deepseek.driving import fresh_caches, spans
from tests.deepseek.references import PREDICTING, Predicted, model, predicted, reference

ROW = 4


def advance(network: Model, caches: Caches, known: Predicted, start: int, end: int) -> tuple[Tensor, Tensor]:
    """Run positions `start` to `end` through both: main streams [R, N, D], the block's logits [R, V]."""
    places = place(caches, start, end - start)
    streams = network.streams(known.ids[None, start:end], places, caches)
    following = known.ids[None, start + 1 : end + 1]
    return streams[0], network.predicted_logits(network.predict(streams, following, places, caches))[0]


def place(caches: Caches, start: int, length: int) -> Spans:
    return spans(caches, torch.tensor([start]), torch.tensor([ROW]), torch.tensor([length]))


def check(name: str, known: Predicted, streams: Tensor, logits: Tensor) -> None:
    tolerance = reference(name).tolerance
    assert (streams - known.streams[: len(streams)]).abs().max() < 1e-3
    assert (logits - known.logits).abs().max() < tolerance
    assert torch.equal(logits.argmax(-1), known.drafts)


@pytest.mark.parametrize("name", PREDICTING)
def test_whole_sequences_equal_the_reference(name: str) -> None:
    network = model(name, predicts=True)
    for known in predicted(name):
        caches = fresh_caches(network, rows_per_step=2)
        check(name, known, *advance(network, caches, known, 0, len(known.drafts)))


@pytest.mark.parametrize(
    "chunk", [pytest.param(1, marks=pytest.mark.slow), 5, pytest.param(13, marks=pytest.mark.slow), 37]
)
@pytest.mark.parametrize("name", PREDICTING)
def test_chunks_equal_the_reference(name: str, chunk: int) -> None:
    network, known = model(name, predicts=True), predicted(name)[-1]
    caches, count = fresh_caches(network, rows_per_step=2), len(known.drafts)
    parts = [
        advance(network, caches, known, start, min(start + chunk, count)) for start in range(0, count, chunk)
    ]
    check(name, known, *(torch.cat(part) for part in zip(*parts, strict=True)))


@pytest.mark.parametrize("width", [2, pytest.param(3, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize("name", PREDICTING)
def test_steps_with_drafts_equal_the_reference(name: str, width: int) -> None:
    """Of each step's rows a random number holds; further drafts are made from the block's own streams."""
    network, known, random = model(name, predicts=True), predicted(name)[-1], Random(width)
    caches, end = fresh_caches(network, rows_per_step=width), len(known.drafts)
    start = end // 3
    parts = [advance(network, caches, known, 0, start)]
    while start < end:
        count = min(random.randint(1, width), end - start)
        ids = torch.randint(network.config.vocab_size, (1, width + 1))
        ids[0, : count + 1] = known.ids[start : start + count + 1]
        streams = network.streams(ids[:, :-1], place(caches, start, width), caches)
        held = place(caches, start, count)
        block = network.predict(streams, ids[:, 1:], held, caches)
        parts.append((streams[0, :count], network.predicted_logits(block)[0, :count]))
        start += count
        last = held.last(block)
        for draft in range(width - 2):
            following = network.predicted_logits(last).argmax(-1, keepdim=True)
            last = network.predict(last.unsqueeze(1), following, place(caches, start + draft, 1), caches)[
                :, 0
            ]
    check(name, known, *(torch.cat(part) for part in zip(*parts, strict=True)))


def test_sequences_of_unequal_length_run_together() -> None:
    network, sequences = model("a", predicts=True), predicted("a")[::3]
    caches = fresh_caches(network, rows_per_step=2)
    lengths = torch.tensor([len(known.drafts) for known in sequences])
    ids = torch.zeros(len(sequences), int(lengths.max()) + 1, dtype=torch.int64)
    for line, known in zip(ids, sequences, strict=True):
        line[: len(known.ids)] = known.ids
    places = spans(caches, torch.zeros_like(lengths), torch.arange(len(sequences)) + 3, lengths)
    streams = network.streams(ids[:, :-1], places, caches)
    logits = network.predicted_logits(network.predict(streams, ids[:, 1:], places, caches))
    for known, length, mine, theirs in zip(sequences, lengths, streams, logits, strict=True):
        check("a", known, mine[:length], theirs[:length])
