"""Any configuration agrees with transformers, not only those whose references are kept."""

from pathlib import Path

import pytest
import torch

from deepseek.checkpoint import load_model
from deepseek.state import Caches
from tests.deepseek.driving import CAPACITY, CONTEXT, greedy, prefill
from tests.deepseek.model.random_checkpoints import random_fields, random_transformer, store

TOLERANCE = 2e-3
LENGTHS = (3, 17, 64)
NEW = 36


@pytest.mark.parametrize("seed", range(100, 110))
def test_random_configuration_agrees_with_transformers(tmp_path: Path, seed: int) -> None:
    fields = random_fields(seed)
    print(f"{seed=} {fields}")
    theirs = random_transformer(fields, seed)
    store(tmp_path, fields, theirs.state_dict(), released=seed % 2 == 1)
    ours = load_model(tmp_path, capacity=CAPACITY, context=CONTEXT)
    draw = torch.Generator().manual_seed(seed)
    prompts = [torch.randint(fields["vocab_size"], (length,), generator=draw) for length in LENGTHS]
    caches = Caches.allocate(ours.config, capacity=CAPACITY, context=CONTEXT)
    rows = [4, 0, 7]
    together = prefill(ours, caches, prompts, rows, 23)
    tokens = greedy(ours, caches, prompts, rows, NEW)
    for prompt, logits, output in zip(prompts, together, tokens, strict=True):
        # What transformers would decode greedily follows from one pass over what we decoded.
        whole = torch.cat((prompt, torch.tensor(output)))
        with torch.no_grad():
            known = theirs(input_ids=whole.unsqueeze(0), use_cache=False).logits[0]
        difference = (logits - known[: len(prompt)]).abs().max()
        best = known[len(prompt) - 1 : -1].topk(2)
        gap = (best.values[:, 0] - best.values[:, 1]).min()
        print(f"length {len(prompt)}: {difference=:.1e}, {gap=:.1e}")
        assert difference < TOLERANCE
        assert output == best.indices[:, 0].tolist()
