"""The decode route: one token for each request of a fixed-size batch.

The same nodes serve every topology. Where the topology has host tails (`tails`), bind fills in each request's last
token and reclaim keeps it; elsewhere the token stays in the request's row on the device.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from deepseek.decode_step import decode_step
from deepseek.model.network import Model
from deepseek.request_rows import owned, read_rows, redirect, write_rows
from deepseek.steps import Decode, Row, Sampled
from graph.node import Context, Ports, Step
from nodes import BindNode, DispatchNode, PrepareNode, ReclaimNode, ReleaseNode

PLAN = ("rows", "generation", "positions", "temperature", "top_p", "seed")


class Prepare(PrepareNode):
    """The batch's rows, positions and sampling parameters, from the command."""

    ports = Ports(writes=tuple(f"inputs.{name}" for name in PLAN), types={"inputs": "DecodeInputs"})

    def start(self, context: Context) -> None:
        self.batch, self.capacity = context.dims["batch"], context.dims["capacity"]

    def run(self, step: Step, slots: Any) -> None:
        command: Decode = step.command
        if len(command.places) > self.batch:
            raise ValueError(f"{len(command.places)} requests do not fit a batch of {self.batch}")
        unused = self.batch - len(command.places)
        places, inputs = command.places, slots.inputs
        _fill(inputs.rows, [place.row.row for place in places] + [self.capacity] * unused)
        _fill(inputs.generation, [place.row.generation for place in places] + [0] * unused)
        _fill(inputs.positions, [place.position for place in places] + [0] * unused)
        _fill(inputs.temperature, [place.sampling.temperature for place in places] + [0.0] * unused)
        _fill(inputs.top_p, [place.sampling.top_p for place in places] + [1.0] * unused)
        _fill(inputs.seed, [place.sampling.seed for place in places] + [0] * unused)


class Bind(BindNode):
    """The token that each place reads: the host's last one, or -1 for the one in the request's row."""

    ports = Ports(
        reads=("inputs.rows", "inputs.generation", "tails"),
        writes=("inputs.tokens",),
        types={"inputs": "DecodeInputs", "tails": "HostTails"},
        optional=frozenset({"tails"}),
    )

    def start(self, context: Context) -> None:
        self.tails = context.buffers.get("tails")

    def run(self, step: Step, slots: Any) -> None:
        inputs = slots.inputs
        if self.tails is None:
            inputs.tokens.fill_(-1)
            return
        mine = owned(self.tails.generation, inputs.rows, inputs.generation)
        inputs.tokens.copy_(torch.where(mine, read_rows(self.tails.token, inputs.rows), -1))


class Dispatch(DispatchNode):
    """One forward pass and one sampled token per place; the tail moves on in the request's row.

    A place whose generation is not its row's runs on the scrap row and yields -1.
    """

    ports = Ports(
        reads=("inputs",),
        writes=("outputs", "state", "caches"),
        types={
            "inputs": "DecodeInputs",
            "outputs": "DecodeOutputs",
            "state": "RequestState",
            "caches": "Caches",
        },
    )

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, step: Step, slots: Any) -> None:
        began = time.thread_time_ns()
        with torch.inference_mode():
            slots.outputs.sampled.copy_(decode_step(self.model, slots.inputs, slots.state, slots.caches))
        if slots.outputs.sampled.device.type == "cpu":
            step.device_time(time.thread_time_ns() - began)


class Reclaim(ReclaimNode):
    """The batch's new tokens, by request; a place that wrote nothing yields none."""

    ports = Ports(
        reads=("inputs.rows", "inputs.generation", "outputs"),
        writes=("tails",),
        types={"inputs": "DecodeInputs", "outputs": "DecodeOutputs", "tails": "HostTails"},
        emits=True,
        optional=frozenset({"tails"}),
    )

    def start(self, context: Context) -> None:
        self.tails = context.buffers.get("tails")

    def run(self, step: Step, slots: Any) -> tuple[Sampled, ...]:
        return collect(slots.inputs.rows, slots.inputs.generation, slots.outputs.sampled, self.tails)


class Release(ReleaseNode):
    """Gives the batch's slots back."""

    ports = Ports()


def collect(rows: Tensor, generation: Tensor, sampled: Tensor, tails: Any) -> tuple[Sampled, ...]:
    """What `[B]` rows sampled, noted in the host's tails where there are any."""
    if tails is not None:
        target = redirect(rows, sampled >= 0, tails.token.shape[0])
        write_rows(tails.token, target, sampled)
        write_rows(tails.generation, target, generation)
    found = zip(rows.tolist(), generation.tolist(), sampled.tolist(), strict=True)
    return tuple(Sampled(Row(row, mine), token) for row, mine, token in found if token >= 0)


def _fill(target: Tensor, values: list[int] | list[float]) -> None:
    target.copy_(torch.tensor(values, dtype=target.dtype))
