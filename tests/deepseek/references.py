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
CONTEXT = 400
CAPACITY = 12


@dataclass(frozen=True)
class Prompt:
    ids: Tensor
    prefill: Tensor
    greedy: list[int]


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
def model(name: str) -> Model:
    return load_model(PARITY / name, capacity=CAPACITY, context=CONTEXT)
