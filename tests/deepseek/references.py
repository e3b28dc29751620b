"""The reference checkpoints under parity/ and what is known of them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from deepseek.checkpoint import load_model
from deepseek.model import Model

PARITY = Path(__file__).parent / "parity"
NAMES = ("a", "b", "b/release", "only_swa", "only_csa", "only_hca", "accept", "quant", "real_rates")
PREDICTING = ("a", "b", "b/release", "accept", "quant", "real_rates")
"""Those with references of the prediction block."""
CONTEXT = 400
CAPACITY = 12
PAGE = 24
"""Rates of the references divide it, exceed it, and do neither."""


@dataclass(frozen=True)
class Prompt:
    ids: Tensor
    prefill: Tensor
    greedy: list[int]


@dataclass(frozen=True)
class Predicted:
    """A prompt with its greedy continuation, and what the networks make of it at each position."""

    ids: Tensor
    streams: Tensor
    """[L, N, D] main streams; all but the last feed the prediction block, with the token that follows."""
    logits: Tensor
    """[L - 1, V] the prediction block's."""
    drafts: Tensor
    """[L - 1]"""


@dataclass(frozen=True)
class Reference:
    directory: Path
    tolerance: float
    prompts: tuple[Prompt, ...]
    arrays: dict[str, Tensor]

    @property
    def longest(self) -> Prompt:
        return max(self.prompts, key=lambda prompt: len(prompt.ids))


@cache
def reference(name: str) -> Reference:
    with np.load(PARITY / name.split("/")[0] / "reference.npz") as stored:
        arrays = {key: torch.from_numpy(stored[key]) for key in stored.files}
    count = sum(key.startswith("p") and key.endswith("_ids") for key in arrays)
    prompts = tuple(
        Prompt(arrays[f"p{i}_ids"], arrays[f"p{i}_prefill"], arrays[f"p{i}_greedy_full"].tolist())
        for i in range(count)
    )
    return Reference(PARITY / name, 1e-4 if name == "accept" else 2e-3, prompts, arrays)


@cache
def predicted(name: str) -> tuple[Predicted, ...]:
    with np.load(PARITY / name.split("/")[0] / "mtp.npz") as stored:
        arrays = {key: torch.from_numpy(stored[key]) for key in stored.files}
    fields = ("seq", "streams", "mtp_logits", "mtp_draft")
    count = sum(key.endswith("_seq") for key in arrays)
    return tuple(Predicted(*(arrays[f"p{i}_{field}"] for field in fields)) for i in range(count))


@cache
def model(name: str, *, predicts: bool = False) -> Model:
    return load_model(PARITY / name, capacity=CAPACITY, context=CONTEXT, rows_per_step=2 if predicts else 1)
