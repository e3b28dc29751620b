"""`laneflow new`: a small pipeline of one's own, complete: topology, nodes, a command, tests.

Either all of its files are written or none, and no file is overwritten.
"""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from importlib import resources
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from graph.cli.command import UsageError
from graph.cli.terminal import out
from graph.schema import file_schema

TEMPLATES = {
    "README.md": "README.md",
    "pyproject.toml": "pyproject.toml",
    "{{name}}/__init__.py": "__init__.py",
    "{{name}}/__main__.py": "__main__.py",
    "{{name}}/pipeline.py": "pipeline.py",
    "{{name}}/{{name}}.yaml": "pipeline.yaml",
    "tests/test_{{name}}.py": "test_pipeline.py",
}
"""The files of a project, and the templates in `project/` that they are made from."""

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")

NEXT = """\
{folder}: {count} files. In that folder:
  laneflow validate {name}/{name}.yaml --bind {name}.pipeline:pipeline
  python -m {name} README.md
  python -m pytest"""


class New:
    """The files, and on stdout what to do with them."""

    help = "write a small pipeline to start from: a topology, its nodes, a command, tests"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = (
            "exit codes: 0 written, 2 a name that cannot be imported, a file that is there already, or a folder that "
            "cannot be written to; then nothing is written"
        )
        parser.add_argument("name", metavar="NAME", help="the name of its Python package and of its topology")
        parser.add_argument("--dir", metavar="DIR", help="the folder to write to (default: NAME)")

    def run(self, args: Namespace) -> int:
        _check_name(args.name)
        folder = Path(args.name if args.dir is None else args.dir)
        files = _files(args.name)
        _write(folder, files)
        out(NEXT.format(folder=folder, count=len(files), name=args.name))
        return 0


def _check_name(name: str) -> None:
    """Raises `UsageError` for a name that no package can have, or that would hide or be hidden by another."""
    if not NAME.fullmatch(name):
        close = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_0123456789")
        hint = f"; did you mean `{close}`?" if NAME.fullmatch(close) else ""
        raise UsageError(
            f"`{name}` cannot be a package's name: up to 32 lower-case letters, digits and _, a letter first{hint}"
        )
    if iskeyword(name):
        raise UsageError(f"`{name}` is a word of Python's own: choose another name")
    if name == "tests" or _is_importable(name):
        raise UsageError(f"`import {name}` would mean another module: choose another name")


def _is_importable(name: str) -> bool:
    """Whether there is a module of that name; a bare folder does not count, it makes way for a package."""
    if name in sys.stdlib_module_names:
        return True
    found = find_spec(name)
    return found is not None and found.origin is not None


def _files(name: str) -> Mapping[str, str]:
    """The text of each file by its path in the project."""
    folder = resources.files("graph.cli") / "project"
    filled = {
        path.replace("{{name}}", name): (folder / f"{template}.template")
        .read_text("utf-8")
        .replace("{{name}}", name)
        for path, template in TEMPLATES.items()
    }
    return {**filled, f"{name}/schema.json": json.dumps(file_schema(), indent=2) + "\n"}


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Raises `UsageError` where not all of them can be written, and leaves none."""
    targets = {folder / path: text for path, text in files.items()}
    for target in targets:
        if os.path.lexists(target):
            raise UsageError(f"`{target}` is there already, and nothing is overwritten: choose another --dir")
    written: list[Path] = []
    try:
        for target, text in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8", newline="\n") as file:
                written.append(target)
                file.write(text)
    except OSError as error:
        for target in written:
            target.unlink(missing_ok=True)
        raise UsageError(f"`{error.filename or folder}` cannot be written: {error.strerror}") from error


NEW = New()
