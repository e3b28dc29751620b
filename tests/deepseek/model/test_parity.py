"""The network computes what transformers and DeepSeek's own code compute."""

import pytest
import torch
from torch import Tensor, nn

from deepseek.checkpoint import load_model
from deepseek.state import Caches
from tests.deepseek.driving import decode, fresh_caches, greedy, prefill, spans
from tests.deepseek.references import CONTEXT, NAMES, model, reference


@pytest.mark.parametrize("name", NAMES)
def test_prompt_logits_and_greedy_tokens_equal_the_reference(name: str) -> None:
    network, known = model(name), reference(name)
    for prompt in known.prompts[::4]:  # the batch of unequal lengths takes them all
        caches = fresh_caches(network)
        (logits,) = prefill(network, caches, [prompt.ids], [3])
        assert (logits - prompt.prefill).abs().max() < known.tolerance
        first = int(logits[-1].argmax())
        assert decode(network, caches, [first], [len(prompt.ids)], [3], 64) == [prompt.greedy]


@pytest.mark.parametrize("name", NAMES)
def test_batch_of_equal_lengths_equals_the_reference(name: str) -> None:
    network, arrays = model(name), reference(name).arrays
    prompts = list(arrays["batch_ids"])
    tokens = greedy(network, fresh_caches(network), prompts, list(range(len(prompts))))
    assert tokens == arrays["batch_greedy"].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_batch_of_unequal_lengths_equals_the_reference(name: str) -> None:
    network, known = model(name), reference(name)
    prompts = [prompt.ids for prompt in known.prompts]
    rows = list(range(len(prompts)))[::-1]
    caches = fresh_caches(network)
    logits = prefill(network, caches, prompts, rows)
    for mine, prompt in zip(logits, known.prompts, strict=True):
        assert (mine - prompt.prefill).abs().max() < known.tolerance
    first = [int(row[-1].argmax()) for row in logits]
    tokens = decode(network, caches, first, [len(ids) for ids in prompts], rows, 64)
    assert tokens == [prompt.greedy for prompt in known.prompts]


@pytest.mark.parametrize("chunk", [pytest.param(1, marks=pytest.mark.slow), 5, 16, 37])
@pytest.mark.parametrize("name", NAMES)
def test_prompt_in_chunks_equals_the_prompt_in_one_go(name: str, chunk: int) -> None:
    network, known = model(name), reference(name)
    (logits,) = prefill(network, fresh_caches(network), [known.longest.ids], [0], chunk)
    assert (logits - known.longest.prefill).abs().max() < known.tolerance


@pytest.mark.parametrize(
    "page",
    [1, pytest.param(3, marks=pytest.mark.slow), 10, pytest.param(64, marks=pytest.mark.slow), CONTEXT + 1],
)
@pytest.mark.parametrize("name", ["a", "b", "real_rates"])
def test_page_size_does_not_matter(name: str, page: int) -> None:
    network, known = model(name), reference(name)
    caches = fresh_caches(network, page=page)
    (logits,) = prefill(network, caches, [known.longest.ids], [4], 19)
    assert (logits - known.longest.prefill).abs().max() < known.tolerance
    first, start = known.longest.greedy[:1], len(known.longest.ids)
    assert decode(network, caches, first, [start], [4], 64) == [known.longest.greedy]


@pytest.mark.parametrize("name", ["a", "b"])
def test_streams_before_each_layer_equal_the_reference(name: str) -> None:
    network, arrays = model(name), reference(name).arrays
    seen: list[Tensor] = []

    def note(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        seen.append(inputs[0][0])

    hooks = [layer.register_forward_pre_hook(note) for layer in network.layers]
    ids = arrays["hid_ids"].unsqueeze(0)
    zero = torch.zeros(1, dtype=torch.int64)
    caches = fresh_caches(network)
    places = spans(caches, zero, zero, zero + ids.shape[1])
    seen.append(network.streams(ids, places, caches)[0])
    for hook in hooks:
        hook.remove()
    for index, (mine, theirs) in enumerate(zip(seen, arrays["hid_layers"], strict=True)):
        assert (mine - theirs).abs().max() < 1e-3, f"before layer {index}"


def test_network_runs_in_bfloat16() -> None:
    known = reference("a")
    network = load_model(known.directory, capacity=1, context=100, dtype=torch.bfloat16)
    caches = Caches.allocate(network.config, capacity=1, context=100, dtype=torch.bfloat16)
    (logits,) = prefill(network, caches, [known.longest.ids], [0])
    assert logits.dtype == torch.float32
    agree = (logits.argmax(-1) == known.longest.prefill.argmax(-1)).float().mean()
    print(
        f"bfloat16 agrees on {agree:.0%} of the best tokens, {(logits - known.longest.prefill).abs().max()=}"
    )
    assert agree > 0.7
