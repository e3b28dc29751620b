"""What is in memory that a request did not write is never seen; what it wrote can be taken back."""

from dataclasses import replace

import pytest
import torch

from deepseek.model import Model
from deepseek.model.step import Spans
from deepseek.state import Caches
from tests.deepseek.driving import decode, fresh_caches, greedy, prefill, spans
from tests.deepseek.references import model, reference

KINDS = ("a", "only_swa", "only_csa", "only_hca", "real_rates")


@pytest.mark.parametrize("name", KINDS)
def test_memory_before_a_request_changes_nothing(name: str) -> None:
    network, prompt = model(name), reference(name).longest
    clean, dirty = fresh_caches(network, fill=0.0), fresh_caches(network, fill=torch.nan)
    (expected,), (found,) = (prefill(network, caches, [prompt.ids], [1], 9) for caches in (clean, dirty))
    assert torch.equal(expected, found)


@pytest.mark.parametrize("name", KINDS)
def test_row_of_an_ended_request_serves_the_next_one_like_new(name: str) -> None:
    network, known = model(name), reference(name)
    caches = fresh_caches(network)
    greedy(network, caches, [known.longest.ids], [2])
    short = known.prompts[0]
    (found,) = prefill(network, caches, [short.ids], [2])
    (expected,) = prefill(network, fresh_caches(network), [short.ids], [2])
    assert torch.equal(found, expected)
    assert decode(network, caches, short.greedy[:1], [len(short.ids)], [2], 64) == [short.greedy]


@pytest.mark.parametrize("name", KINDS)
def test_pages_of_an_ended_request_serve_another_row_like_new(name: str) -> None:
    network, known = model(name), reference(name)
    caches, clean = fresh_caches(network), fresh_caches(network)
    greedy(network, caches, [known.longest.ids], [2])
    ids, zero = known.prompts[0].ids.unsqueeze(0), torch.zeros(1, dtype=torch.int64)
    places = replace(spans(caches, zero, zero + 2, zero + ids.shape[1]), rows=zero + 5)
    found, expected = (network.logits(network.streams(ids, places, each)) for each in (caches, clean))
    assert torch.equal(found, expected)


def test_unused_places_of_a_batch_disturb_nobody() -> None:
    network, prompt = model("a"), reference("a").longest
    caches = fresh_caches(network)
    prefill(network, caches, [prompt.ids], [0])
    before = [tensor[:-1].clone() for tensor in caches.tensors()]
    scrap = torch.full((3,), caches.scrap)
    places = spans(caches, torch.tensor([0, 5, 63]), scrap, torch.tensor([0, 2, 1]))
    network(torch.zeros(3, 2, dtype=torch.int64), places, caches)
    for old, tensor in zip(before, caches.tensors(), strict=True):
        assert torch.equal(old.nan_to_num(), tensor[:-1].nan_to_num())
    first, start = prompt.greedy[0], len(prompt.ids)
    row = torch.tensor([0, caches.scrap, caches.scrap, caches.scrap])
    token, position = torch.tensor([[first], [0], [0], [0]]), torch.tensor([start, 0, 7, 300])
    logits = network(token, spans(caches, position, row, torch.tensor([1, 0, 0, 1])), caches)
    assert int(logits[0].argmax()) == prompt.greedy[1]


def test_no_row_of_a_request_is_written_through_a_place_without_length() -> None:
    """A stale place: its row is scrap by then, its table may name the pages of whoever has them now."""
    network, prompt = model("a"), reference("a").longest
    caches = fresh_caches(network)
    prefill(network, caches, [prompt.ids], [0])
    before = [tensor[:-1].clone() for tensor in caches.tensors()]
    zero = torch.zeros(1, dtype=torch.int64)
    table = spans(caches, zero, zero, zero + len(prompt.ids)).pages
    network(torch.zeros(1, 8, dtype=torch.int64), Spans(zero, zero + caches.scrap, zero, table), caches)
    for old, tensor in zip(before, caches.tensors(), strict=True):
        assert torch.equal(old.nan_to_num(), tensor[:-1].nan_to_num())


@pytest.mark.parametrize("drafts", [1, 3])
@pytest.mark.parametrize("name", KINDS)
def test_rejected_rows_leave_no_trace(name: str, drafts: int) -> None:
    """Every step carries wrong drafts, which the next step overwrites."""
    network, prompt = model(name), reference(name).longest
    caches = fresh_caches(network, rows_per_step=1 + drafts)
    prefill(network, caches, [prompt.ids], [0])
    row, length, start = torch.zeros(1, dtype=torch.int64), torch.tensor([1 + drafts]), len(prompt.ids)
    tokens = prompt.greedy[:1]
    for k in range(63):
        wrong = [(tokens[-1] + 7 * draft + k) % network.config.vocab_size for draft in range(1, 1 + drafts)]
        ids = torch.tensor([[tokens[-1], *wrong]])
        streams = network.streams(ids, spans(caches, row + start + k, row, length), caches)
        tokens.append(int(network.logits(streams[:, 0]).argmax()))
    assert tokens == prompt.greedy


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_one_step_see_only_what_stands_before_them(name: str) -> None:
    """Right and wrong drafts alternate; both rows of a right one are kept."""
    network, prompt = model(name), reference(name).longest
    caches = fresh_caches(network, rows_per_step=2)
    prefill(network, caches, [prompt.ids], [0])
    row, length, tokens = torch.zeros(1, dtype=torch.int64), torch.tensor([2]), prompt.greedy[:1]
    while len(tokens) < 62:
        done = len(tokens)
        right = done % 3 == 1
        draft = prompt.greedy[done] if right else (prompt.greedy[done] + 1) % network.config.vocab_size
        places = spans(caches, row + len(prompt.ids) + done - 1, row, length)
        streams = network.streams(torch.tensor([[tokens[-1], draft]]), places, caches)
        best = network.logits(streams)[0].argmax(-1).tolist()
        tokens += best if right else best[:1]
    assert tokens == prompt.greedy[: len(tokens)]


@pytest.mark.parametrize("width", [1, 2, 20])
def test_step_reads_nothing_back(width: int) -> None:
    """On the meta device any value read by Python, or shape that depends on one, is an error."""
    config = model("a").config
    network = Model(config, predicts=True, device="meta")
    caches = Caches.allocate(config, capacity=4, context=200, rows_per_step=2, device="meta")
    per_request = torch.zeros(1, dtype=torch.int64, device="meta")
    ids = torch.zeros(1, width, dtype=torch.int64, device="meta")
    table = torch.zeros(1, caches.blocks, dtype=torch.int64, device="meta")
    places = Spans(per_request, per_request, per_request, table)
    assert network(ids, places, caches).shape == (1, config.vocab_size)
    predicted = network.predict(network.streams(ids, places, caches), ids, places, caches)
    assert network.predicted_logits(predicted).shape == (1, width, config.vocab_size)


def test_step_updates_caches_in_place() -> None:
    network = model("a")
    caches = fresh_caches(network)
    places = [tensor.data_ptr() for tensor in caches.tensors()]
    prefill(network, caches, [reference("a").longest.ids], [0], 16)
    assert [tensor.data_ptr() for tensor in caches.tensors()] == places
