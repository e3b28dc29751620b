"""Where topologies are found, and their text: at most 1 MiB of UTF-8."""

from __future__ import annotations

import difflib
import os
import sys
from importlib import resources
from pathlib import Path

from graph import yaml_tree
from graph.diagnostics import Diagnostic, Location, TopologyError
from graph.yaml_tree import Item, Scalar


def shipped() -> dict[str, Path]:
    """The topologies that come with the package, by name, abstract ones included."""
    folder = Path(str(resources.files("topologies")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def locate(source: str | Path) -> Path:
    """The file that a path or a shipped name means; raises `TopologyError` (LF001) where there is none."""
    path = Path(source)
    looks_like_path = path.suffix in (".yaml", ".yml") or len(path.parts) > 1
    if os.path.isfile(path) and (looks_like_path or path.name not in shipped()):
        return path
    if not looks_like_path and str(source) in shipped():
        return shipped()[str(source)]
    close = difflib.get_close_matches(str(source), shipped(), 1)
    hint = f"did you mean `{close[0]}`? " if close else ""
    names = ", ".join(name for name in shipped())
    if os.path.exists(path):
        raise _irregular(str(source))
    what = "no such file" if looks_like_path else "neither a file nor a shipped topology"
    raise TopologyError(
        [
            Diagnostic(
                Location(str(source), 1, 1),
                "LF001",
                f"`{source}`: {what}",
                f"{hint}shipped topologies: {names}",
            )
        ]
    )


def referred(reference: Item, folder: Path, key: str) -> Path:
    """The file that `extends` or `fallback` names: beside the file, else among the shipped ones."""
    name = reference.value if isinstance(reference, Scalar) else None
    if not isinstance(name, str) or not name:
        raise TopologyError(
            [Diagnostic(reference.at, "LF002", f"`{key}` must be a topology's name", f"write `{key}: NAME`")]
        )
    beside = folder / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if os.path.isfile(beside):  # unlike Path.is_file, False for a name too long to be one
        return beside
    known = shipped()
    if name in known:
        return known[name]
    candidates = [*known, *(path.stem for path in folder.glob("*.yaml"))]
    close = difflib.get_close_matches(name, candidates, 1)
    mend = (
        f"did you mean `{close[0]}`?"
        if close
        else f"write a shipped name or put `{name}.yaml` beside this file"
    )
    raise TopologyError([Diagnostic(reference.at, "LF004", f"`{key}: {name}` is not found", mend)])


def read_text(path: Path) -> str:
    """The text of a topology file, at most 1 MiB of UTF-8; raises `TopologyError` (LF001)."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe can be read once, and may never end
        raise _irregular(str(path))
    try:
        with path.open("rb") as file:
            return _text(file.read(yaml_tree.MAX_BYTES + 1), str(path))
    except OSError as error:
        raise _unreadable(
            str(path), f"cannot be read: {error.strerror}", "check the path and its permissions"
        ) from None


def read_stdin() -> str:
    """The text on standard input, under the same limits as a file; raises `TopologyError` (LF001)."""
    try:
        return _text(sys.stdin.buffer.read(yaml_tree.MAX_BYTES + 1), "<stdin>")
    except OSError as error:
        raise _unreadable(
            "<stdin>", f"cannot be read: {error.strerror or error}", "give the text on standard input"
        ) from None


def _text(data: bytes, file: str) -> str:
    if len(data) > yaml_tree.MAX_BYTES:
        raise _unreadable(file, f"larger than {yaml_tree.MAX_BYTES} bytes", "split the file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(file, f"not UTF-8 text (byte {error.start})", "save the file as UTF-8") from None


def _irregular(file: str) -> TopologyError:
    return _unreadable(
        file, f"`{file}`: not a regular file", "give what a pipe holds on standard input, as `-`"
    )


def _unreadable(file: str, message: str, mend: str) -> TopologyError:
    return TopologyError([Diagnostic(Location(file, 1, 1), "LF001", message, mend)])
