"""The five nodes of a run on a chip: prepare, bind, execute, complete, retire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from graph.errors import StepError, Unfinished
from graph.lanes.queue import Queue
from graph.node import Context, Ports, Step
from nodes.chip_run.driver import Tensors
from nodes.kinds import BindNode, DispatchNode, PrepareNode, ReclaimNode, ReleaseNode


@dataclass(frozen=True)
class Run:
    """The command of a step: what runs on the chip and on what."""

    program: Any
    """What the driver's native executor launches; for the simulated chip and CUDA a function of the arguments and
    the results, each a mapping of tensors by field, that writes the results."""
    arguments: Mapping[str, Any]
    """For each field of `Arguments`, what is copied into it when the step is prepared: a tensor, or what
    `torch.as_tensor` takes. It must not change before the ticket is resolved."""


class PrepareRun(PrepareNode):
    """Copies the command's arguments into the slot; raises `ValueError` where they do not fit its fields."""

    ports = Ports(writes=("arguments",), types={"arguments": "Arguments"})

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = tuple(fields)

    def run(self, step: Step, slots: Any) -> None:
        given = _command(step).arguments
        if set(given) != set(self._fields):
            raise ValueError(
                f"step {step.index} has the arguments {sorted(given)}: give one for each of {sorted(self._fields)}"
            )
        for name in self._fields:
            what = f"argument `{name}` of step {step.index}"
            _copy(given[name], getattr(slots.arguments, name), what)


class BindRun(BindNode):
    """Takes the results' slot and a stream, and binds the run to the stream."""

    ports = Ports(writes=("streams",), types={"results": "Results", "streams": "RunStream"})

    def run(self, step: Step, slots: Any) -> None:
        slots.streams.bind(step.index, _command(step).program)


class ExecuteRun(DispatchNode):
    """Launches the bound run on the lane's queue, which is behind it from then on; its completion is the run's."""

    ports = Ports(
        reads=("arguments", "executor"),
        writes=("results", "streams"),
        types={
            "arguments": "Arguments",
            "results": "Results",
            "streams": "RunStream",
            "executor": "NativeExecutor",
        },
    )

    def __init__(self, device: str, arguments: Sequence[str], results: Sequence[str]) -> None:
        self._device = device
        self._arguments, self._results = tuple(arguments), tuple(results)
        self._queue: Queue

    def start(self, context: Context) -> None:
        """Raises `ValueError` where the lane is no stream, or the graph's run is on another device."""
        if context.stream is None:
            raise ValueError(f"`{context.node}` launches on a queue: give its lane `worker: stream`")
        if context.device != self._device:
            raise ValueError(
                f"the chip is `{self._device}` and the run is on `{context.device}`: "
                f"give the Runtime device={self._device!r}"
            )
        self._queue = context.stream

    def run(self, step: Step, slots: Any) -> None:
        program = slots.streams.launch(step.index)
        slots.executor.launch(
            program,
            _tensors(slots.arguments, self._arguments),
            _tensors(slots.results, self._results),
            slots.streams.chip,
            self._queue,
        )


class CompleteRun(ReclaimNode):
    """The step's result: a copy of each field of `Results`, since the slot goes back."""

    ports = Ports(reads=("results",), types={"results": "Results"}, emits=True)

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = tuple(fields)

    def run(self, step: Step, slots: Any) -> Mapping[str, torch.Tensor]:
        del step
        return {name: tensor.clone() for name, tensor in _tensors(slots.results, self._fields).items()}


class RetireRun(ReleaseNode):
    """Retires the step's run and makes its stream ready for the next one.

    Where the run is not proved complete it raises `Unfinished`, so that the stream is quarantined and rebuilt.
    """

    ports = Ports(reads=("streams",), types={"streams": "RunStream"})

    def run(self, step: Step, slots: Any) -> None:
        if slots.streams is not None:  # it was bound
            slots.streams.retire(step.index, proved=not _unfinished(step.error))


def _command(step: Step) -> Run:
    if not isinstance(step.command, Run):
        raise TypeError(f"step {step.index} has {step.command!r} as its command: submit a `Run`")
    return step.command


def _tensors(record: Any, fields: Sequence[str]) -> Tensors:
    """To be written into, not to be replaced."""
    return MappingProxyType({name: getattr(record, name) for name in fields})


def _copy(value: Any, target: torch.Tensor, what: str) -> None:
    """Raises `ValueError` where the slot's field cannot hold the value as it is; floats may be rounded."""
    source = torch.as_tensor(value).detach()
    if source.dim() and source.shape != target.shape:
        raise ValueError(f"{what} is {list(source.shape)}: it has to be {list(target.shape)}")
    if not torch.can_cast(source.dtype, target.dtype) or not _in_range(source, target.dtype):
        raise ValueError(f"{what} is {source.dtype}, and {target.dtype} cannot hold what it has")
    target.copy_(source)


def _in_range(source: torch.Tensor, dtype: torch.dtype) -> bool:
    """Of whole numbers; floats become infinite beyond theirs."""
    if dtype.is_floating_point or dtype.is_complex or source.dtype is torch.bool or source.numel() == 0:
        return True
    limits = torch.iinfo(dtype)
    return limits.min <= int(source.min()) and int(source.max()) <= limits.max


def _unfinished(error: Exception | None) -> bool:
    return isinstance(error.cause if isinstance(error, StepError) else error, Unfinished)
