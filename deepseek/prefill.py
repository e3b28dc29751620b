"""The prefill route: chunks of prompts, and the first new token of each that ends; and the mixed route's result."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from deepseek.decode import collect, fill, fill_pages, store
from deepseek.host_tails import keep
from deepseek.model.network import Model
from deepseek.prefill_step import prefill_step
from deepseek.sizes import Sizes
from deepseek.state import Caches
from deepseek.steps import Batch, Row, Sampled
from graph.node import Context, Ports, Step
from nodes import DispatchNode, PrepareNode, ReclaimNode, ReleaseNode
from nodes.device_call import DeviceCall, staged

_REQUEST = ("prompts.rows", "prompts.generation")


class PreparePrefill(PrepareNode):
    """The chunks and their requests, from the command; padded to the chunk size."""

    ports = Ports(writes=("prompts",), types={"prompts": "PromptChunks"})

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def run(self, step: Step, slots: Any) -> None:
        command: Batch = step.command
        chunks, prompts = command.chunks, slots.prompts
        self.sizes.check_chunks(chunks)
        prompts.tokens.zero_()
        for place, chunk in enumerate(chunks):
            prompts.tokens[place, : len(chunk.tokens)] = torch.tensor(chunk.tokens)
        spare = prompts.rows.shape[0] - len(chunks)
        fill(prompts.rows, [chunk.row.row for chunk in chunks] + [self.sizes.capacity] * spare)
        fill(prompts.generation, [chunk.row.generation for chunk in chunks] + [0] * spare)
        fill(prompts.positions, [chunk.position for chunk in chunks] + [0] * spare)
        fill(prompts.length, [len(chunk.tokens) for chunk in chunks] + [0] * spare)
        following = [-1 if chunk.following is None else chunk.following for chunk in chunks]
        fill(prompts.following, following + [0] * spare)
        fill(prompts.temperature, [chunk.sampling.temperature for chunk in chunks] + [0.0] * spare)
        fill(prompts.top_p, [chunk.sampling.top_p for chunk in chunks] + [1.0] * spare)
        fill(prompts.seed, [chunk.sampling.seed for chunk in chunks] + [0] * spare)
        fill_pages(prompts.pages, [chunk.pages for chunk in chunks], self.sizes.pages)


class RunPrefill(DispatchNode):
    """Runs the chunks through the model; a first chunk takes its row, a last one makes the request's state whole.

    A chunk whose generation is not the row's runs on the scrap row and yields nothing.
    """

    ports = staged(
        Ports(
            reads=("prompts",),
            writes=("firsts", "state", "caches"),
            types={
                "prompts": "PromptChunks",
                "firsts": "FirstTokens",
                "state": "RequestState",
                "caches": "Caches",
            },
        ),
        "prompts",
        "firsts",
    )

    def __init__(self, model: Model) -> None:
        self.model = model

    def start(self, context: Context) -> None:
        self.call = DeviceCall(context, "prompts", "firsts")
        self.state, self.caches = context.buffers["state"], context.buffers["caches"]

    def run(self, step: Step, slots: Any) -> None:
        prompts, firsts = self.call.tensors(slots, "prompts"), self.call.tensors(slots, "firsts")
        self.call(step, partial(_prefill_into, firsts, self.model, prompts, self.state, self.caches))


class ReclaimPrefill(ReclaimNode):
    """The first new token of each prompt that ended."""

    ports = Ports(
        reads=(*_REQUEST, "firsts"),
        writes=("tails",),
        types={"prompts": "PromptChunks", "firsts": "FirstTokens", "tails": "HostTails"},
        emits=True,
        optional=frozenset({"tails"}),
    )

    def start(self, context: Context) -> None:
        self.tails = context.buffers.get("tails")

    def run(self, step: Step, slots: Any) -> tuple[Sampled, ...]:
        return collect_first(slots.prompts, slots.firsts, self.tails)


class ReclaimMixed(ReclaimNode):
    """The first new tokens of prompts that ended, then what the batch committed."""

    ports = Ports(
        reads=(*_REQUEST, "firsts", "inputs.rows", "inputs.generation", "outputs"),
        writes=("tails",),
        types={
            "prompts": "PromptChunks",
            "firsts": "FirstTokens",
            "inputs": "DecodeInputs",
            "outputs": "DecodeOutputs",
            "tails": "HostTails",
        },
        emits=True,
        optional=frozenset({"tails"}),
    )

    def start(self, context: Context) -> None:
        self.tails = context.buffers.get("tails")

    def run(self, step: Step, slots: Any) -> tuple[Sampled, ...]:
        first = collect_first(slots.prompts, slots.firsts, self.tails)
        return first + collect(slots.inputs, slots.outputs, self.tails)


class ReleasePrefill(ReleaseNode):
    """Gives the chunks' slots back."""

    ports = Ports()


def _prefill_into(firsts: Any, model: Model, prompts: Any, state: Any, caches: Caches) -> None:
    store(firsts, prefill_step(model, prompts, state, caches))


def collect_first(prompts: Any, firsts: Any, tails: Any) -> tuple[Sampled, ...]:
    """The first token of each prompt that ended, noted in the host's tails where there are any."""
    if tails is not None:
        keep(tails, prompts, firsts, firsts.sampled >= 0)
    found = zip(prompts.rows.tolist(), prompts.generation.tolist(), firsts.sampled.tolist(), strict=True)
    return tuple(Sampled(Row(row, generation), (token,)) for row, generation, token in found if token >= 0)
