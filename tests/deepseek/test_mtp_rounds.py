"""Each speculative round commits as many tokens as in the reference implementation."""

from __future__ import annotations

import numpy as np
import pytest

from deepseek.sizes import Sizes
from tests.deepseek.references import PARITY, model, reference
from tests.deepseek.tiny import Device

PROMPTS = 4
"""Of each checkpoint; more of them show nothing new."""
NAMES = ("a", "b", "b/release", "accept", "real_rates", "quant")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "real_rates" else ()) for name in NAMES]
)
def test_rounds_commit_what_they_commit_in_the_reference(name: str) -> None:
    network, known = model(name, predicts=True), reference(name)
    with np.load(PARITY / name.split("/")[0] / "mtp.npz") as stored:
        rounds = {key: stored[key].tolist() for key in stored.files if key.endswith("_rounds")}
    assert rounds
    for key, expected in [*rounds.items()][:PROMPTS]:
        prompt = known.prompts[int(key[1:].split("_")[0])]
        run = Device(network, Sizes(network.config.vocab_size, context=400, batch=1, capacity=1, rows=2))
        tokens, counts = run.prefill([prompt.ids.tolist()]).sampled.tolist(), []
        for _ in expected:
            committed = [token for token in run.decode((0,)).sampled[0].tolist() if token >= 0]
            counts.append(len(committed))
            tokens += committed
        # The last round of the reference is cut where it has its 64 tokens.
        assert counts[:-1] == expected[:-1], key
        assert counts[-1] >= expected[-1], key
        assert tokens[: len(prompt.greedy)] == prompt.greedy, key
