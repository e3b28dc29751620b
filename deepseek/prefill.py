"""The prefill route: a chunk of one request's prompt per step, and the first new token at its end."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepseek.decode import collect
from deepseek.model.network import Model
from deepseek.request_rows import opened, owned, redirect, write_rows
from deepseek.sampling import sample
from deepseek.steps import Prefill, Sampled
from graph.node import Context, Ports, Step
from nodes import DispatchNode, PrepareNode, ReclaimNode, ReleaseNode


class PreparePrefill(PrepareNode):
    """The chunk and its request, from the command; padded to the chunk size."""

    ports = Ports(writes=("prompt",), types={"prompt": "PromptChunk"})

    def run(self, step: Step, slots: Any) -> None:
        command: Prefill = step.command
        prompt, count = slots.prompt, len(command.tokens)
        if not 0 < count <= prompt.tokens.shape[0]:
            raise ValueError(f"a chunk of {count} tokens; it has 1 to {prompt.tokens.shape[0]}")
        prompt.tokens.zero_()
        prompt.tokens[:count] = torch.tensor(command.tokens)
        prompt.row[0], prompt.generation[0] = command.row
        prompt.position[0], prompt.length[0], prompt.last[0] = command.position, count, command.last
        prompt.temperature[0] = command.sampling.temperature
        prompt.top_p[0] = command.sampling.top_p
        prompt.seed[0] = command.sampling.seed


class RunPrefill(DispatchNode):
    """Runs the chunk through the model; the first chunk takes the row, the last samples the first new token.

    A chunk whose generation is not the row's runs on the scrap row and yields -1.
    """

    ports = Ports(
        reads=("prompt",),
        writes=("first", "state", "caches"),
        types={"prompt": "PromptChunk", "first": "FirstToken", "state": "RequestState", "caches": "Caches"},
    )

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, step: Step, slots: Any) -> None:
        with torch.inference_mode():
            slots.first.sampled.copy_(self._prefill(slots.prompt, slots.state, slots.caches))

    def _prefill(self, prompt: Any, state: Any, caches: Any) -> Tensor:
        device = state.tail.device
        row, generation, position, length = (
            tensor.to(device, non_blocking=True)
            for tensor in (prompt.row, prompt.generation, prompt.position, prompt.length)
        )
        opens = (position == 0) & opened(state.generation, row, generation)
        live = opens | owned(state.generation, row, generation)
        target = redirect(row, live, caches.scrap)
        write_rows(state.generation, target, generation)
        tokens = prompt.tokens.to(device, non_blocking=True)
        logits = self.model(tokens[None], position, target, torch.where(live, length, 0), caches)
        sampled = sample(
            logits,
            prompt.temperature.to(device, non_blocking=True),
            prompt.top_p.to(device, non_blocking=True),
            prompt.seed.to(device, non_blocking=True),
            position + length,
        )
        ends = live & prompt.last.to(device, non_blocking=True)
        write_rows(state.tail, redirect(row, ends, caches.scrap), sampled)
        return torch.where(ends, sampled, -1)


class ReclaimPrefill(ReclaimNode):
    """The first new token, where the chunk was its prompt's last."""

    ports = Ports(
        reads=("prompt.row", "prompt.generation", "first"),
        writes=("tails",),
        types={"prompt": "PromptChunk", "first": "FirstToken", "tails": "HostTails"},
        emits=True,
        optional=frozenset({"tails"}),
    )

    def start(self, context: Context) -> None:
        self.tails = context.buffers.get("tails")

    def run(self, step: Step, slots: Any) -> tuple[Sampled, ...]:
        return collect(slots.prompt.row, slots.prompt.generation, slots.first.sampled, self.tails)


class ReleasePrefill(ReleaseNode):
    """Gives the chunk's slots back."""

    ports = Ports()
