"""Drafts of the test's choosing in place of the model's: put in front of prefill and dispatch, on the device lane."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from graph.node import Context, Executor, Node, Step

Tokens = tuple[int, ...]
Choose = Callable[[random.Random, int, int], int]
"""The draft, of a source of chance, the token that will be right, and the size of the vocabulary."""


def right(chance: random.Random, token: int, vocab_size: int) -> int:
    return token


def wrong(chance: random.Random, token: int, vocab_size: int) -> int:
    return (token + 1 + chance.randrange(vocab_size - 1)) % vocab_size


def mixed(chance: random.Random, token: int, vocab_size: int) -> int:
    return chance.choice((right, wrong))(chance, token, vocab_size)


class Drafting:
    """Knows what each prompt continues with; follows every request from its first chunk on."""

    def __init__(
        self, continuations: Mapping[Tokens, Tokens], choose: Choose, vocab_size: int, seed: int
    ) -> None:
        self.continuations, self.choose, self.vocab_size = continuations, choose, vocab_size
        self.chance = random.Random(seed)
        self.prompts: dict[tuple[int, int], list[int]] = {}
        """By row and generation, the prompt so far."""

    def over(self, pipeline: Executor) -> Executor:
        """The pipeline with its drafts overridden."""
        nodes = dict(pipeline.nodes)
        nodes["prefill"] = _Before(nodes["prefill"], self._note)
        nodes["dispatch"] = _Before(nodes["dispatch"], self._override)
        return replace(pipeline, nodes=nodes)

    def _note(self, slots: Any) -> None:
        prompts = slots.prompts
        for place, (row, generation) in enumerate(
            zip(prompts.rows.tolist(), prompts.generation.tolist(), strict=True)
        ):
            if generation == 0:  # an unused place
                continue
            tokens = prompts.tokens[place, : prompts.length[place]].tolist()
            self.prompts.setdefault((row, generation), []).extend(tokens)

    def _override(self, slots: Any) -> None:
        inputs, state = slots.inputs, slots.state
        for place, owner in enumerate(zip(inputs.rows.tolist(), inputs.generation.tolist(), strict=True)):
            if owner not in self.prompts or int(state.generation[owner[0]]) != owner[1]:
                continue
            prompt = tuple(self.prompts[owner])
            told = int(inputs.positions[place])
            position = told if told >= 0 else int(state.positions[owner[0]])
            coming = self.continuations[prompt][position + 1 - len(prompt) :]
            for draft in range(inputs.tokens.shape[1] - 1):
                token = coming[draft] if draft < len(coming) else 0
                inputs.tokens[place, 1 + draft] = self.choose(self.chance, token, self.vocab_size)


class _Before:
    """A node that something is done for first."""

    def __init__(self, node: Node, do: Callable[[Any], None]) -> None:
        self.node, self.do, self.ports = node, do, None
        self.stop = node.stop

    def start(self, context: Context) -> None:
        self.node.start(context)

    def run(self, step: Step, slots: Any) -> Any:
        with torch.inference_mode():
            self.do(slots)
        return self.node.run(step, slots)
