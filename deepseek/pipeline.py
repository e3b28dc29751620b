"""The executor behind the decode topologies."""

from __future__ import annotations

from collections.abc import Mapping

from deepseek.bundled import PATH
from deepseek.checkpoint import load_model
from deepseek.compiled import Choice, CompiledDispatch
from deepseek.decode import Bind, Dispatch, Prepare, Reclaim, Release
from deepseek.model.network import Model
from deepseek.prefill import PreparePrefill, ReclaimPrefill, ReleasePrefill, RunPrefill
from deepseek.retire import PrepareRetire, RunRetire
from deepseek.state import Caches
from graph.node import Executor, Node

ROUTES = ("decode", "prefill", "retire")
CAPABILITIES = frozenset({"device_state"})
"""`device_state`: the tail token of each request stays on the device, in its row."""


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
    run as it has chosen for these sizes; without, eager.
    """
    ready = compiled.step if compiled else None
    nodes: Mapping[str, Node] = {
        "prepare": Prepare(),
        "bind": Bind(),
        "dispatch": CompiledDispatch(model, *ready) if ready else Dispatch(model),
        "reclaim": Reclaim(),
        "release": Release(),
        "prepare_prefill": PreparePrefill(),
        "prefill": RunPrefill(model),
        "reclaim_prefill": ReclaimPrefill(),
        "release_prefill": ReleasePrefill(),
        "prepare_retire": PrepareRetire(),
        "retire": RunRetire(),
    }

    def caches() -> Caches:
        return Caches.allocate(
            model.config, capacity=capacity, context=context, dtype=model.dtype, device=device
        )

    dims = {"batch": batch, "capacity": capacity, "chunk": chunk}
    return Executor(nodes, CAPABILITIES, {"Caches": caches}, dims, ROUTES)


def pipeline() -> Executor:
    """The executor with the bundled checkpoint, as `package.module:callable`: `deepseek.pipeline:pipeline`."""
    model = load_model(PATH, capacity=4, context=256)
    return executor(model, batch=4, capacity=4, chunk=64, context=256)
