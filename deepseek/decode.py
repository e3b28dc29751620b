"""The decode route: the next tokens of each request of a fixed-size batch.

The same nodes serve every topology. Where the topology has host tails (`tails`), bind fills in what each request
reads and where, and reclaim keeps it; elsewhere both stay in the request's row on the device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from deepseek.decode_step import Decoded, decode_step
from deepseek.host_tails import keep
from deepseek.model.network import Model
from deepseek.prefill_step import Begun
from deepseek.request_rows import owned, read_rows
from deepseek.sizes import Sizes
from deepseek.state import Caches
from deepseek.steps import Batch, Row, Sampled
from graph.node import Context, Ports, Step
from nodes import BindNode, DispatchNode, PrepareNode, ReclaimNode, ReleaseNode
from nodes.device_call import DeviceCall, staged


class Prepare(PrepareNode):
    """The batch's rows and pages, from the command."""

    ports = Ports(
        writes=("inputs.rows", "inputs.generation", "inputs.pages"), types={"inputs": "DecodeInputs"}
    )

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def run(self, step: Step, slots: Any) -> None:
        command: Batch = step.command
        self.sizes.check_places(command.places)
        inputs, unused = slots.inputs, slots.inputs.rows.shape[0] - len(command.places)
        fill(inputs.rows, [place.row.row for place in command.places] + [self.sizes.capacity] * unused)
        fill(inputs.generation, [place.row.generation for place in command.places] + [0] * unused)
        fill_pages(inputs.pages, [place.pages for place in command.places], self.sizes.pages)


class Bind(BindNode):
    """What each place reads and where: the host's last tokens, or -1 for those in the request's row."""

    ports = Ports(
        reads=("inputs.rows", "inputs.generation", "tails"),
        writes=("inputs.positions", "inputs.tokens"),
        types={"inputs": "DecodeInputs", "tails": "HostTails"},
        optional=frozenset({"tails"}),
    )

    def start(self, context: Context) -> None:
        self.tails = context.buffers.get("tails")

    def run(self, step: Step, slots: Any) -> None:
        inputs = slots.inputs
        if self.tails is None:
            inputs.positions.fill_(-1)
            inputs.tokens.fill_(-1)
            return
        mine = owned(self.tails.generation, inputs.rows, inputs.generation)
        inputs.positions.copy_(torch.where(mine, read_rows(self.tails.positions, inputs.rows), -1))
        tokens = read_rows(self.tails.tokens, inputs.rows)
        inputs.tokens.copy_(torch.where(mine.unsqueeze(1), tokens, -1))


class Dispatch(DispatchNode):
    """One forward pass over tail and drafts of each place; the request's row moves on by what was committed.

    A place whose generation is not its row's runs on the scrap row and yields nothing.
    """

    ports = staged(
        Ports(
            reads=("inputs",),
            writes=("outputs", "state", "caches"),
            types={
                "inputs": "DecodeInputs",
                "outputs": "DecodeOutputs",
                "state": "RequestState",
                "caches": "Caches",
            },
        ),
        "inputs",
        "outputs",
    )

    def __init__(self, model: Model) -> None:
        self.model = model

    def start(self, context: Context) -> None:
        self.call = DeviceCall(context, "inputs", "outputs")
        self.state, self.caches = context.buffers["state"], context.buffers["caches"]

    def run(self, step: Step, slots: Any) -> None:
        inputs, outputs = self.call.tensors(slots, "inputs"), self.call.tensors(slots, "outputs")
        self.call(step, self.work(inputs, outputs))

    def work(self, inputs: SimpleNamespace, outputs: SimpleNamespace) -> Callable[[], object]:
        """What the device does for a step with these slots, whose fields are those of the two records."""
        return partial(decode_into, outputs, self.model, inputs, self.state, self.caches)


class Reclaim(ReclaimNode):
    """The tokens that the batch committed, by request; a place that wrote nothing yields none."""

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
        return collect(slots.inputs, slots.outputs, self.tails)


class Release(ReleaseNode):
    """Gives the batch's slots back."""

    ports = Ports()


def collect(inputs: Any, outputs: Any, tails: Any) -> tuple[Sampled, ...]:
    """What each place committed, noted in the host's tails where there are any."""
    if tails is not None:
        keep(tails, inputs, outputs, outputs.sampled[:, 0] >= 0)
    found = zip(inputs.rows.tolist(), inputs.generation.tolist(), outputs.sampled.tolist(), strict=True)
    return tuple(
        Sampled(Row(row, generation), tuple(token for token in tokens if token >= 0))
        for row, generation, tokens in found
        if tokens[0] >= 0
    )


def decode_into(outputs: Any, model: Model, inputs: Any, state: Any, caches: Caches) -> None:
    """One decode step, its result in the slot `outputs`."""
    store(outputs, decode_step(model, inputs, state, caches))


def store(record: Any, values: Decoded | Begun) -> None:
    """Copy what a step yields into the slot whose fields have its names; nobody waits for the device."""
    for name, value in values._asdict().items():
        getattr(record, name).copy_(value, non_blocking=True)


def fill(target: Tensor, values: list[int] | list[float]) -> None:
    """Copy numbers into a tensor of a slot."""
    target.copy_(torch.tensor(values, dtype=target.dtype))


def fill_pages(target: Tensor, tables: list[tuple[int, ...]], scrap: int) -> None:
    """Copy page tables into `target [n, blocks]`; blocks that a request does not have go to the scrap page."""
    width = target.shape[1]
    rows = [[*table, *[scrap] * (width - len(table))] for table in tables]
    rows += [[scrap] * width] * (target.shape[0] - len(rows))
    target.copy_(torch.tensor(rows, dtype=target.dtype))
