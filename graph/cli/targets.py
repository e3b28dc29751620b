"""Which topologies the words of a command line mean, and how their files are shown."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from graph.cli.command import UsageError
from graph.diagnostics import TopologyError
from graph.files import locate

STDIN = "-"
SUFFIXES = (".yaml", ".yml")


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Targets and overrides; an override is a word with `=` that is not the name of a file."""
    overrides = [word for word in words if "=" in word and not Path(word).exists()]
    return [word for word in words if word not in overrides], overrides


def expand(targets: Iterable[str]) -> list[str]:
    """Files, each once, in the order given; `-` stays. Raises `UsageError` with all that are nothing."""
    found: dict[str, str] = {}
    missing: list[str] = []
    for target in targets:
        try:
            for file in _files(target):
                found.setdefault(os.path.realpath(file) if file != STDIN else STDIN, file)
        except UsageError as error:
            missing.append(str(error))
    if missing:
        raise UsageError("\n".join(missing))
    return list(found.values())


def shown(file: str) -> str:
    """A file's name as a person would write it here: relative where it lies below the working directory."""
    path = Path(file)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return file


def _files(target: str) -> Iterator[str]:
    if target == STDIN:
        if sys.stdin is None:  # how Python starts where the descriptor is closed
            raise UsageError("`-`: standard input is closed")
        yield STDIN
    elif os.path.isdir(target):
        yield from _nonempty(_below(target), f"`{target}`: no *.yaml or *.yml file in this folder")
    elif glob.has_magic(target) and not os.path.exists(target):
        matches = sorted(path for path in glob.glob(target, recursive=True) if os.path.isfile(path))
        yield from _nonempty(iter(matches), f"`{target}`: no file matches")
    else:
        try:
            yield str(locate(target))
        except TopologyError as error:
            first = error.diagnostics[0]
            raise UsageError(f"{first.message}; {first.help}") from None


def _below(folder: str) -> Iterator[str]:
    """Topology files under the folder; what is hidden (`.git`, `.github`) holds other YAML."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(root, name) for name in sorted(files) if _is_topology(name))


def _is_topology(name: str) -> bool:
    return name.endswith(SUFFIXES) and not name.startswith(".")


def _nonempty(files: Iterator[str], message: str) -> Iterator[str]:
    first = next(files, None)
    if first is None:
        raise UsageError(message)
    yield first
    yield from files
