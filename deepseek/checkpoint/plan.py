"""Matches a checkpoint's tensors with the network's parameters before any weight is read."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from deepseek.checkpoint.errors import CheckpointError
from deepseek.checkpoint.headers import TensorHeader
from deepseek.checkpoint.names import Source, Sources, is_derived, is_prediction, sources

_FLOATS = {"F64", "F32", "F16", "BF16"}
_INTEGERS = {"I64", "I32"}
_QUANTISED = {"F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "U8", "F4"}
_NAMED_AT_MOST = 5


def plan_loading(
    directory: Path, parameters: Mapping[str, Tensor], experts: int, headers: Mapping[str, TensorHeader]
) -> dict[str, Source]:
    """For each parameter, the stored tensors to fill it from.

    Args:
        directory: the checkpoint, for messages.
        parameters: the network's parameters; only their shapes and types matter.
        experts: routed experts per layer.
        headers: what is stored. Tensors of a multi-token-prediction block that is not asked for are passed over.

    Raises:
        CheckpointError: a tensor is missing, has the wrong shape or type, is quantised, or belongs nowhere.
    """
    _refuse_quantised(headers)
    plan: dict[str, Source] = {}
    for name, tensor in parameters.items():
        plan[name] = _choose(directory, sources(name, experts), headers)
        _check(plan[name], tensor, headers)
    _refuse_leftovers(plan, headers)
    return plan


def _refuse_quantised(headers: Mapping[str, TensorHeader]) -> None:
    for name, header in headers.items():
        if header.dtype in _QUANTISED:
            raise CheckpointError(
                header.file,
                f"tensor {name} is quantised ({header.dtype}); quantised checkpoints are not supported yet",
                "Convert the checkpoint to float32 or bfloat16",
            )


def _choose(directory: Path, spellings: Sources, headers: Mapping[str, TensorHeader]) -> Source:
    """The spelling that is stored in full; otherwise say what is missing from the nearer one."""
    both = (spellings.released, spellings.transformers)
    for source in both:
        if all(name in headers for name in source.names):
            return source
    nearer = (
        spellings.transformers
        if any(name.startswith("model.layers.") for name in headers)
        else spellings.released
    )
    missing = [name for name in nearer.names if name not in headers]
    raise CheckpointError(
        directory, f"tensor {_some(missing)} is missing", "The checkpoint is incomplete; fetch it again"
    )


def _check(source: Source, tensor: Tensor, headers: Mapping[str, TensorHeader]) -> None:
    expected = list(tensor.shape)
    if source.stacked:
        parts = len(source.stacked[0])
        expected = [expected[1] // parts, expected[2]]
    allowed = _FLOATS if tensor.is_floating_point() else _INTEGERS
    for name in source.names:
        header = headers[name]
        if list(header.shape) != expected:
            raise CheckpointError(
                header.file,
                f"tensor {name} has shape {list(header.shape)}, config.json asks for {expected}",
                "config.json and the weights belong to different models, or a size in config.json is wrong",
            )
        if header.dtype not in allowed:
            raise CheckpointError(
                header.file,
                f"tensor {name} has type {header.dtype}",
                f"Supported are {', '.join(sorted(allowed))}",
            )


def _refuse_leftovers(plan: Mapping[str, Source], headers: Mapping[str, TensorHeader]) -> None:
    used = {name for source in plan.values() for name in source.names}
    extra = [
        name for name in headers if name not in used and not is_prediction(name) and not is_derived(name)
    ]
    if extra:
        raise CheckpointError(
            headers[extra[0]].file,
            f"tensor {_some(extra)} has no place in the network that config.json describes",
            "config.json and the weights belong to different models, or a layer count or kind in it is wrong",
        )


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" (and {more} more)" if more > 0 else "")
