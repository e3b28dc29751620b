"""What a checkpoint's safetensors files say they hold, read without reading any weight."""

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from deepseek.checkpoint.errors import CheckpointError
from deepseek.checkpoint.strict_json import parse

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_FETCH = "Fetch the file again"
_LONGEST_HEADER = 100_000_000
"""Bytes; the limit of safetensors itself."""


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
        places = parse(path.read_text(encoding="utf-8"))["weight_map"]
        shards = {str(name): str(shard) for name, shard in places.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CheckpointError(path, f"is not an index of safetensors shards ({error!r})", _FETCH) from error
    for name, shard in shards.items():
        if not _is_inside(shard):
            raise CheckpointError(
                path,
                f"places tensor {name} in {shard!r}, which is no file of the checkpoint's folder",
                "Take the index from the checkpoint's publisher",
            )
    return shards


def _is_inside(shard: str) -> bool:
    """By its name alone: a file in a download cache may well be a link to elsewhere."""
    place = PurePath(shard)
    return place.name != "" and not place.is_absolute() and ".." not in place.parts and "\0" not in shard


def _read_file(path: Path) -> dict[str, TensorHeader]:
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > size - 8:
                raise CheckpointError(path, f"is cut short in its header, at {size} bytes", _FETCH)
            if length > _LONGEST_HEADER:
                raise ValueError(f"its header is {length} bytes long")
            header: dict[str, Any] = parse(file.read(length))
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
