"""The executor behind the decode topologies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from deepseek.bundled import PATH
from deepseek.captured import CapturedDispatch
from deepseek.checkpoint import load_model, read_config
from deepseek.compiled import Choice, CompiledDispatch, StepShape, choose
from deepseek.decode import Bind, Dispatch, Prepare, Reclaim, Release
from deepseek.deferred import Deferred
from deepseek.model.network import Model
from deepseek.prefill import PreparePrefill, ReclaimMixed, ReclaimPrefill, ReleasePrefill, RunPrefill
from deepseek.retire import PrepareRetire, RunRetire
from deepseek.sizes import Sizes
from deepseek.state import Caches
from graph.node import Executor, Node
from nodes.copying import CopyNode

ROUTES = ("decode", "prefill", "retire")
"""What the engine cannot do without; `mixed` it uses where there is one."""
CAPABILITIES = frozenset({"device_state", "device_embedding", "split_reclaim"})
"""`device_state`: what a request reads next stays on the device, in its row. `device_embedding`: tokens are embedded
there, so that they need not be known on the host. `split_reclaim`: outputs stand in slots of their own, to be
reclaimed while the next step runs. With drafts also `mtp`: a step commits several tokens of a request."""


@dataclass(frozen=True)
class Origin:
    """Where a model comes from and how it runs: enough to make its executor in another process."""

    directory: Path
    dtype: str = "float32"
    device: str = "cpu"
    shape: StepShape | None = None
    """That of the compiled step by which decode steps run; None for the eager way."""
    captures: bool = True
    """Whether eager decode steps are captured where they can be."""

    def load(self, sizes: Sizes) -> Model:
        """Raises `CheckpointError`."""
        return load_model(
            self.directory, **_state_sizes(sizes), dtype=getattr(torch, self.dtype), device=self.device
        )

    def caches(self, sizes: Sizes) -> Caches:
        """Caches for a run with these sizes."""
        config, dtype = read_config(self.directory), getattr(torch, self.dtype)
        return Caches.allocate(config, **_state_sizes(sizes), dtype=dtype, device=self.device)

    def dispatch(self, model: Model) -> Node:
        """Raises `RuntimeError` where the compiled step is not in the cache any more."""
        if self.shape is None:
            return CapturedDispatch(model) if self.captures else Dispatch(model)
        choice = choose(self.shape, self.device, "cached")
        if choice.step is None:
            raise RuntimeError(f"no compiled decode step: {choice.reason}")
        return CompiledDispatch(model, *choice.step)


def executor(
    model: Model, sizes: Sizes, *, device: str = "cpu", compiled: Choice | None = None, captures: bool = True
) -> Executor:
    """Nodes that decode with `model`, which has its prediction block where `sizes.rows` is above 1.

    With `compiled`, decode steps run as it has chosen for these sizes; without, eager, and captured where
    `CapturedDispatch` can unless `captures` is false. See `deferred` for lanes in processes.
    """
    ready = compiled.step if compiled else None
    eager = CapturedDispatch(model) if captures else Dispatch(model)
    dispatch = CompiledDispatch(model, *ready) if ready else eager

    def caches() -> Caches:
        return Caches.allocate(model.config, **_state_sizes(sizes), dtype=model.dtype, device=device)

    return _executor(sizes, dispatch, RunPrefill(model), caches)


def deferred(origin: Origin, sizes: Sizes) -> Executor:
    """The same, for lanes in any process: the model is loaded by the first of its nodes that starts."""

    @cache
    def model() -> Model:
        return origin.load(sizes)

    return replace(
        _executor(
            sizes,
            Deferred(Dispatch, lambda: origin.dispatch(model())),
            Deferred(RunPrefill, lambda: RunPrefill(model())),
            partial(origin.caches, sizes),
        ),
        factory=partial(deferred, origin, sizes),
    )


def _executor(sizes: Sizes, dispatch: Node, prefill: Node, caches: Callable[[], Caches]) -> Executor:
    nodes: dict[str, Node] = {
        "prepare": Prepare(sizes),
        "bind": Bind(),
        "dispatch": dispatch,
        "reclaim": Reclaim(),
        "release": Release(),
        "prepare_prefill": PreparePrefill(sizes),
        "prefill": prefill,
        "reclaim_prefill": ReclaimPrefill(),
        "release_prefill": ReleasePrefill(),
        "reclaim_mixed": ReclaimMixed(),
        "prepare_retire": PrepareRetire(sizes),
        "retire": RunRetire(),
        "copy_in": CopyNode("inputs", "device_inputs", "DecodeInputs"),
        "copy_out": CopyNode("device_outputs", "outputs", "DecodeOutputs"),
        "copy_in_prompts": CopyNode("prompts", "device_prompts", "PromptChunks"),
        "copy_out_firsts": CopyNode("device_firsts", "firsts", "FirstTokens"),
        "copy_in_retiring": CopyNode("retiring", "device_retiring", "Retiring"),
    }
    able = CAPABILITIES | {"mtp"} if sizes.rows > 1 else CAPABILITIES
    return Executor(nodes, able, {"Caches": caches}, sizes.dims, ROUTES)


def _state_sizes(sizes: Sizes) -> dict[str, Any]:
    return {
        "capacity": sizes.capacity,
        "context": sizes.context,
        "rows_per_step": sizes.rows,
        "page": sizes.page,
        "pages": sizes.pages,
    }


SIZES = Sizes(258, context=256, batch=4, capacity=4, rows=2)
"""Of `pipeline`."""


def pipeline() -> Executor:
    """The executor with the bundled checkpoint, as `package.module:callable`: `deepseek.pipeline:pipeline`."""
    return deferred(Origin(PATH), SIZES)
