"""Compiled steps on disk, shared by every process of the user.

An entry is one file, `<key>-<SHA-256 of its content>.so`: it appears whole or not at all, several processes
may publish the same key, and a file whose content is not what its name says is never loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from pathlib import Path

import torch

import deepseek
from deepseek.compiled.shape import StepShape

SOURCES = (
    "model/*.py",
    "decode_step.py",
    "request_rows.py",
    "sampling.py",
    "sizes.py",
    "state.py",
    "compiled/traced.py",
    "compiled/build.py",
)
"""What the generated code follows from, within this package."""


def directory() -> Path:
    """Where compiled steps are kept: `laneflow/steps` in `XDG_CACHE_HOME`, by default `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "laneflow" / "steps"


def key(shape: StepShape) -> str:
    """Names all that a compiled step depends on: shape, torch, processor and the source it was made from."""
    what = {
        "config": shape.config.model_dump(mode="json"),
        "shape": str(shape),
        "torch": torch.__version__,
        "processor": _processor(),
        "source": _source(),
    }
    return _digest(json.dumps(what, sort_keys=True).encode())[:32]


def find(name: str) -> Path | None:
    """The file of a key, if there is a sound one; damaged ones are removed."""
    for path in sorted(directory().glob(f"{name}-*.so")):
        try:
            if path.stem == f"{name}-{_digest(path.read_bytes())}":
                return path
            path.unlink()
        except OSError:
            continue
    return None


def publish(name: str, built: Path) -> Path:
    """Move a file, which must be on the cache's file system, to its place; returns the place."""
    place = directory() / f"{name}-{_digest(built.read_bytes())}.so"
    os.replace(built, place)
    return place


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@cache
def _source() -> str:
    root = Path(deepseek.__file__).parent
    found = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in root.glob(pattern)):
        found.update(f"{path.relative_to(root).as_posix()} {_digest(path.read_bytes())}\n".encode())
    return found.hexdigest()


@cache
def _processor() -> str:
    """The instructions that code compiled here may use: it is compiled for this very processor."""
    found = [platform.machine(), torch.backends.cpu.get_cpu_capability()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return " ".join([*found, platform.processor()])
    wanted = ("model name", "flags", "Features")
    return " ".join([*found, *dict.fromkeys(line for line in lines if line.startswith(wanted))])
