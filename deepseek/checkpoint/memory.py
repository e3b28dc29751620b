"""Whether a model fits, decided before any of it is loaded."""

from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from deepseek.checkpoint.errors import CheckpointError
from deepseek.config import ModelConfig
from deepseek.model import Model
from deepseek.state import cache_nbytes

_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryNeeds:
    """Bytes that a model and its state take; a step's working memory is not counted."""

    weights: int
    caches: int

    @property
    def total(self) -> int:
        """Weights and caches together."""
        return self.weights + self.caches


def memory_needs(
    config: ModelConfig,
    *,
    capacity: int,
    context: int,
    rows_per_step: int = 1,
    page: int = 64,
    pages: int | None = None,
    dtype: torch.dtype,
) -> MemoryNeeds:
    """Bytes needed for weights and for the state that `Caches.allocate` makes of the same arguments."""
    model = Model(config, predicts=rows_per_step > 1, dtype=dtype, device="meta")
    weights = sum(tensor.nbytes for tensor in model.parameters())
    caches = cache_nbytes(
        config,
        capacity=capacity,
        context=context,
        rows_per_step=rows_per_step,
        page=page,
        pages=pages,
        dtype=dtype,
    )
    return MemoryNeeds(weights, caches)


def available_memory(device: torch.device) -> int:
    """Bytes free on a device; on CPU no more than the control group allows."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return min(psutil.virtual_memory().available, *_cgroup_room(_CGROUP))


def check_memory(directory: Path, needs: MemoryNeeds, available: int, device: torch.device | str) -> None:
    """Refuse what cannot fit.

    Raises:
        CheckpointError: weights and caches take more than `available` bytes.
    """
    if needs.total > available:
        raise CheckpointError(
            directory,
            f"needs {_size(needs.weights)} for weights and {_size(needs.caches)} for caches on {device}, "
            f"where {_size(available)} are available",
            "Lower the capacity or the context, choose a narrower dtype, or use a larger device",
        )


def _cgroup_room(root: Path) -> list[int]:
    """Bytes left under the control group's limit (version 2, then 1); empty without a limit."""
    for limit, usage in (
        (root / "memory.max", root / "memory.current"),
        (root / "memory/memory.limit_in_bytes", root / "memory/memory.usage_in_bytes"),
    ):
        try:
            return [max(int(limit.read_text()) - int(usage.read_text()), 0)]
        except (OSError, ValueError):  # no such version, or "max": no limit
            continue
    return []


def _size(count: int) -> str:
    for unit, bytes_each in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= bytes_each:
            return f"{count / bytes_each:.1f} {unit}"
    return f"{count} bytes"
