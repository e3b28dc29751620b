"""The retire route: rows of requests that are over, taken from them on the device lane, behind their last step."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor

from deepseek.request_rows import owned, redirect, write_rows
from deepseek.sizes import Sizes
from deepseek.steps import Retire
from graph.node import Context, Ports, Step
from nodes import PrepareNode, ReleaseNode
from nodes.device_call import DeviceCall, staged


class PrepareRetire(PrepareNode):
    """The rows to retire, from the command."""

    ports = Ports(writes=("retiring",), types={"retiring": "Retiring"})

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def run(self, step: Step, slots: Any) -> None:
        command: Retire = step.command
        self.sizes.check_rows(command.rows)
        retiring = slots.retiring
        retiring.rows.fill_(self.sizes.capacity)
        retiring.generation.zero_()
        for place, (row, generation) in enumerate(command.rows):
            retiring.rows[place], retiring.generation[place] = row, generation


class RunRetire(ReleaseNode):
    """Marks each row as over, where it still belongs to the request that is retired."""

    ports = staged(
        Ports(
            reads=("retiring",),
            writes=("state.generation",),
            types={"retiring": "Retiring", "state": "RequestState"},
        ),
        "retiring",
    )

    def start(self, context: Context) -> None:
        self._call = DeviceCall(context, "retiring")
        self._generations = context.buffers["state"].generation

    def run(self, step: Step, slots: Any) -> None:
        if step.error is not None:
            return  # nothing says which rows; they stay with their generation, which no later request has
        retiring = self._call.tensors(slots, "retiring")
        self._call(step, partial(_retire, self._generations, retiring.rows, retiring.generation))


def _retire(generations: Tensor, rows: Tensor, generation: Tensor) -> None:
    rows, generation = (tensor.to(generations.device, non_blocking=True) for tensor in (rows, generation))
    mine = owned(generations, rows, generation)
    write_rows(generations, redirect(rows, mine, generations.shape[0]), -generation)
