"""The retire route: rows of requests that are over, taken from them on the device lane, behind their last step."""

from __future__ import annotations

from typing import Any

import torch

from deepseek.request_rows import owned, redirect, write_rows
from deepseek.sizes import Sizes
from deepseek.steps import Retire
from graph.node import Ports, Step
from nodes import PrepareNode, ReleaseNode


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

    ports = Ports(
        reads=("retiring",),
        writes=("state.generation",),
        types={"retiring": "Retiring", "state": "RequestState"},
    )

    def run(self, step: Step, slots: Any) -> None:
        if step.error is not None:
            return  # nothing says which rows; they stay with their generation, which no later request has
        generations = slots.state.generation
        rows, generation = (
            tensor.to(generations.device) for tensor in (slots.retiring.rows, slots.retiring.generation)
        )
        mine = owned(generations, rows, generation)
        with torch.inference_mode():
            write_rows(generations, redirect(rows, mine, generations.shape[0]), -generation)
