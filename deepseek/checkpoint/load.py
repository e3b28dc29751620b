"""Fills a network with a checkpoint's weights, one stored tensor in memory at a time."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from deepseek.checkpoint.config_json import read_config
from deepseek.checkpoint.errors import CheckpointError
from deepseek.checkpoint.headers import TensorHeader, read_headers
from deepseek.checkpoint.huge_pages import join
from deepseek.checkpoint.memory import available_memory, check_memory, memory_needs
from deepseek.checkpoint.names import Source, is_prediction
from deepseek.checkpoint.plan import plan_loading
from deepseek.config import ModelConfig
from deepseek.model import Model


def load_model(
    path: Path | str,
    *,
    capacity: int,
    context: int,
    rows_per_step: int = 1,
    page: int = 64,
    pages: int | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Model:
    """Load a checkpoint directory in the Hugging Face layout.

    Args:
        path: directory with config.json and model.safetensors, or shards with their index.
        capacity: requests whose state will be held at once.
        context: most tokens per request.
        rows_per_step: rows per request of a decode step, as in `Caches`; above 1 the model has its prediction block.
        page: positions that a page of compressed keys stands for, as in `Caches`.
        pages: pages in all, by default as many as all requests may need.
        dtype: type of weights and keys; routers, hyper-connections and compressors stay float32.
        device: where the weights go.

    Raises:
        CheckpointError: the checkpoint is missing, broken, of another architecture or quantised, or it does
            not fit into memory together with the state of `capacity` requests; checked before loading.
    """
    directory, device = Path(path), torch.device(device)
    headers = read_headers(directory)
    config = read_config(directory, headers)
    predicts = rows_per_step > 1
    if predicts and not _has_prediction(config, headers):
        raise CheckpointError(
            directory, "has no prediction block (mtp.0.*) to draft with", "Decode without drafts: --mtp 0"
        )
    shapes = Model(config, predicts=predicts, dtype=dtype, device="meta").state_dict()
    plan = plan_loading(directory, shapes, config.n_routed_experts, headers)
    needs = memory_needs(
        config,
        capacity=capacity,
        context=context,
        rows_per_step=rows_per_step,
        page=page,
        pages=pages,
        dtype=dtype,
    )
    check_memory(directory, needs, available_memory(device), device)
    try:
        model = Model(config, predicts=predicts, dtype=dtype, device=device)
        join(model.parameters())
    except (MemoryError, RuntimeError) as error:  # torch has no type of its own for the CPU's memory
        raise CheckpointError(
            directory,
            f"its weights cannot be allocated on {device} ({str(error).splitlines()[0]})",
            "Free memory, raise the process's limit, or use a smaller checkpoint",
        ) from error
    _fill(model.state_dict(), plan, headers)
    _check_expert_tables(model, config, directory)
    return model.eval()


def has_prediction(path: Path | str) -> bool:
    """Whether a checkpoint has a multi-token-prediction block. Raises `CheckpointError` as `load_model` does."""
    headers = read_headers(Path(path))
    return _has_prediction(read_config(Path(path), headers), headers)


def _has_prediction(config: ModelConfig, headers: Mapping[str, TensorHeader]) -> bool:
    return config.num_nextn_predict_layers > 0 and any(map(is_prediction, headers))


def _fill(
    parameters: Mapping[str, Tensor], plan: Mapping[str, Source], headers: Mapping[str, TensorHeader]
) -> None:
    with ExitStack() as stack:
        files = {}
        for file in {header.file for header in headers.values()}:
            try:
                files[file] = stack.enter_context(safe_open(file, framework="pt"))
            except (SafetensorError, OSError) as error:
                raise CheckpointError(file, f"cannot be read ({error})", "Fetch the file again") from error
        for name, source in plan.items():
            target = parameters[name]
            if source.single:
                target.copy_(files[headers[source.single].file].get_tensor(source.single))
            for expert, parts in enumerate(source.stacked):
                for half, part in zip(target[expert].chunk(len(parts)), parts, strict=True):
                    half.copy_(files[headers[part].file].get_tensor(part))


def _check_expert_tables(model: Model, config: ModelConfig, directory: Path) -> None:
    for name, tensor in model.state_dict().items():
        if not name.endswith("tid2eid"):
            continue
        for expert in (int(tensor.min()), int(tensor.max())):
            if expert not in range(config.n_routed_experts):
                raise CheckpointError(
                    directory,
                    f"{name} names expert {expert} of {config.n_routed_experts}",
                    "The checkpoint is broken; fetch it again",
                )
