"""The executor behind the decode topologies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import torch

from deepseek.bundled import PATH
from deepseek.checkpoint import load_model, read_config
from deepseek.compiled import Choice, CompiledDispatch, StepShape, choose
from deepseek.decode import Bind, Dispatch, Prepare, Reclaim, Release
from deepseek.deferred import Deferred
from deepseek.model.network import Model
from deepseek.prefill import PreparePrefill, ReclaimPrefill, ReleasePrefill, RunPrefill
from deepseek.retire import PrepareRetire, RunRetire
from deepseek.state import Caches
from graph.node import Executor, Node

ROUTES = ("decode", "prefill", "retire")
CAPABILITIES = frozenset({"device_state"})
"""`device_state`: the tail token of each request stays on the device, in its row."""


@dataclass(frozen=True)
class Origin:
    """Where a model comes from and how it runs: enough to make its executor in another process."""

    directory: Path
    context: int
    """Most tokens of a request."""
    dtype: str = "float32"
    device: str = "cpu"
    shape: StepShape | None = None
    """That of the compiled step by which decode steps run; None for the eager way."""

    def load(self, capacity: int) -> Model:
        dtype = getattr(torch, self.dtype)
        return load_model(
            self.directory, capacity=capacity, context=self.context, dtype=dtype, device=self.device
        )

    def caches(self, capacity: int) -> Caches:
        config, dtype = read_config(self.directory), getattr(torch, self.dtype)
        return Caches.allocate(
            config, capacity=capacity, context=self.context, dtype=dtype, device=self.device
        )

    def dispatch(self, model: Model) -> Node:
        """Raises `RuntimeError` where the compiled step is not in the cache any more."""
        if self.shape is None:
            return Dispatch(model)
        choice = choose(self.shape, self.device, "cached")
        if choice.step is None:
            raise RuntimeError(f"no compiled decode step: {choice.reason}")
        return CompiledDispatch(model, *choice.step)


def executor(
    model: Model,
    *,
    batch: int,
    capacity: int,
    chunk: int,
    context: int,
    device: str = "cpu",
    compiled: Choice | None = None,
) -> Executor:
    """Nodes that decode with `model`: `batch` requests a step, out of `capacity` that have a row.

    A request has at most `context` tokens; prompts are run `chunk` tokens a step. With `compiled`, decode steps
    run as it has chosen for these sizes; without, eager. See `deferred` for lanes in processes.
    """
    ready = compiled.step if compiled else None
    dispatch = CompiledDispatch(model, *ready) if ready else Dispatch(model)

    def caches() -> Caches:
        return Caches.allocate(
            model.config, capacity=capacity, context=context, dtype=model.dtype, device=device
        )

    return Executor(
        _nodes(dispatch, RunPrefill(model)),
        CAPABILITIES,
        {"Caches": caches},
        _dims(batch, capacity, chunk),
        ROUTES,
    )


def deferred(origin: Origin, *, batch: int, capacity: int, chunk: int) -> Executor:
    """The same, for lanes in any process: the model is loaded by the first of its nodes that starts."""

    @cache
    def model() -> Model:
        return origin.load(capacity)

    return Executor(
        _nodes(
            Deferred(Dispatch, lambda: origin.dispatch(model())),
            Deferred(RunPrefill, lambda: RunPrefill(model())),
        ),
        CAPABILITIES,
        {"Caches": partial(origin.caches, capacity)},
        _dims(batch, capacity, chunk),
        ROUTES,
        partial(deferred, origin, batch=batch, capacity=capacity, chunk=chunk),
    )


def _nodes(dispatch: Node, prefill: Node) -> Mapping[str, Node]:
    return {
        "prepare": Prepare(),
        "bind": Bind(),
        "dispatch": dispatch,
        "reclaim": Reclaim(),
        "release": Release(),
        "prepare_prefill": PreparePrefill(),
        "prefill": prefill,
        "reclaim_prefill": ReclaimPrefill(),
        "release_prefill": ReleasePrefill(),
        "prepare_retire": PrepareRetire(),
        "retire": RunRetire(),
    }


def _dims(batch: int, capacity: int, chunk: int) -> dict[str, int]:
    return {"batch": batch, "capacity": capacity, "chunk": chunk}


def pipeline() -> Executor:
    """The executor with the bundled checkpoint, as `package.module:callable`: `deepseek.pipeline:pipeline`."""
    return deferred(Origin(PATH, context=256), batch=4, capacity=4, chunk=64)
