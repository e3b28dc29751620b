"""How often drafts along greedy continuations are accepted, and whether those continuations repeat themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from deepseek.bundled.passes import continue_greedily, logits_of_both
from deepseek.model import Model


@dataclass(frozen=True)
class Greedy:
    """Greedy continuations of some prompts, decoded with one draft per step."""

    continuations: list[list[int]]
    verdicts: list[list[bool]]
    """For each continuation what became of its drafts, in order."""

    @property
    def drafts(self) -> int:
        """Drafts that the main model judged."""
        return sum(map(len, self.verdicts))

    @property
    def accepted(self) -> int:
        """Those that were its own choice."""
        return sum(map(sum, self.verdicts))

    @property
    def acceptance(self) -> float:
        """Share of drafts accepted."""
        return self.accepted / self.drafts

    def distinct(self, size: int) -> float:
        """Share of different ones among each continuation's runs of `size` tokens, over all continuations."""
        runs = [
            [tuple(tokens[first : first + size]) for first in range(len(tokens) - size + 1)]
            for tokens in self.continuations
        ]
        return sum(len(set(of_one)) for of_one in runs) / sum(map(len, runs))


@torch.inference_mode()
def measure(model: Model, prompts: Sequence[Sequence[int]], count: int) -> Greedy:
    """Continue prompts of one length by `count` tokens each, and judge the drafts on the way."""
    start = len(prompts[0])
    ids = continue_greedily(model, torch.tensor(prompts), count)
    _, predicted = logits_of_both(model, ids)
    drafts = predicted.argmax(-1).tolist()
    verdicts = [judge(tokens, drawn, start) for tokens, drawn in zip(ids.tolist(), drafts, strict=True)]
    return Greedy(ids[:, start:].tolist(), verdicts)


def judge(tokens: Sequence[int], drafts: Sequence[int], start: int) -> list[bool]:
    """Verdicts on the drafts that decoding meets behind a prompt of `start` tokens.

    The draft made at position p is for p + 2. The next one is made a position further if it is wrong, and two if
    it is right, since the step then gives two tokens.
    """
    verdicts: list[bool] = []
    position = start - 1
    while position + 2 < len(tokens):
        verdicts.append(drafts[position] == tokens[position + 2])
        position += 2 if verdicts[-1] else 1
    return verdicts
