"""What a checkpoint's safetensors files say they hold, read without reading any weight."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepseek.checkpoint.errors import CheckpointError

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_FETCH = "Fetch the file again"


@dataclass(frozen=True)
class TensorHeader:
    """One stored tensor."""

    file: Path
    dtype: str
    """safetensors' name of the type: F32, BF16, I64, F8_E4M3, ..."""
    shape: tuple[int, ...]


def read_headers(directory: Path) -> dict[str, TensorHeader]:
    """All tensors of a checkpoint directory by name, from one file or from the shards its index names.

    Raises:
        CheckpointError: no weights, a shard missing, or a file that is not a whole safetensors file.
    """
    index = directory / INDEX
    if not index.exists():
        if not (directory / SINGLE).exists():
            raise CheckpointError(
                directory,
                f"holds neither {SINGLE} nor {INDEX}",
                "Point at a checkpoint in the Hugging Face layout",
            )
        return _read_file(directory / SINGLE)
    places = _read_index(index)
    headers: dict[str, TensorHeader] = {}
    for shard in sorted(set(places.values())):
        if not (directory / shard).exists():
            raise CheckpointError(directory / shard, f"is named by {INDEX} but does not exist", "Fetch it")
        headers |= _read_file(directory / shard)
    for name, shard in places.items():
        if name not in headers:
            raise CheckpointError(
                directory / shard, f"lacks tensor {name}, which {INDEX} places there", _FETCH
            )
    return headers


def _read_index(path: Path) -> dict[str, str]:
    try:
        places = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        return {str(name): str(shard) for name, shard in places.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CheckpointError(path, f"is not an index of safetensors shards ({error!r})", _FETCH) from error


def _read_file(path: Path) -> dict[str, TensorHeader]:
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > size - 8:
                raise CheckpointError(path, f"is cut short in its header, at {size} bytes", _FETCH)
            header: dict[str, Any] = json.loads(file.read(length))
        header.pop("__metadata__", None)
        end = 8 + length + max((entry["data_offsets"][1] for entry in header.values()), default=0)
        tensors = {
            name: TensorHeader(path, str(entry["dtype"]), tuple(map(int, entry["shape"])))
            for name, entry in header.items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CheckpointError(path, f"is not a safetensors file ({error!r})", _FETCH) from error
    if size < end:
        raise CheckpointError(path, f"is cut short: its header promises {end} bytes, it has {size}", _FETCH)
    return tensors
