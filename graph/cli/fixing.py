"""`--fix` and `--diff`: the mends of a file's faults, made in its text."""

from __future__ import annotations

import codecs
import shutil
import tempfile
from pathlib import Path

from graph.cli.sources import STDIN_FILE, Sources
from graph.cli.targets import STDIN, shown
from graph.diagnostics import TopologyError
from graph.files import shipped
from graph.mend import Mend, mended
from graph.splice import SpliceError, diff, splice

BOM = codecs.BOM_UTF8


class NotFixed(Exception):
    """A file's mends are known and cannot be made in that file; the message says why."""


class NotWritten(NotFixed):
    """The system does not let the file be written."""


def difference(sources: Sources, target: str) -> str:
    """The change that mends a target, as a unified diff; empty where no mend is known. Raises `NotFixed`."""
    steps, text = _mended(sources, target)
    return diff(sources.text(target), text, _name(target)).rstrip("\n") if steps else ""


def fix(sources: Sources, target: str) -> str:
    """Mend a file in place and say how; empty where no mend is known. Raises `NotFixed`."""
    if target == STDIN:
        raise NotFixed("standard input cannot be written; --diff shows the change")
    if Path(target).resolve() in {path.resolve() for path in shipped().values()}:
        raise NotFixed(f"{_name(target)} comes with laneflow: copy it, and mend the copy")
    steps, text = _mended(sources, target)
    if not steps:
        return ""
    _write(Path(target), text)
    return f"{_name(target)}: fixed: {'; '.join(step.help for step in steps)}"


def _write(file: Path, text: str) -> None:
    """The text in place of what the file holds, with the byte order mark that it may begin with.

    In one go: whoever looks, and whatever happens meanwhile, the file is the old one or the new one.
    """
    try:
        place = file.resolve()
        with place.open("r+b") as old:  # refused where the file may not be written
            marked = old.read(len(BOM)) == BOM
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as new:
            try:
                new.write((BOM if marked else b"") + text.encode())
                shutil.copymode(place, new.name)
                Path(new.name).replace(place)
            except BaseException:
                Path(new.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise NotWritten(f"cannot write {shown(str(file))}: {error.strerror}") from error


def _mended(sources: Sources, target: str) -> tuple[tuple[Mend, ...], str]:
    """The mends, applied one after the other, and the text with all of them."""
    try:
        topology = sources.load(target, ())
        text = sources.text(target)
    except TopologyError:  # the check that follows reports it
        return (), ""
    _, steps = mended(topology)
    try:
        return steps, splice(text, _name(target), [edit for step in steps for edit in step.edits])
    except SpliceError as error:
        raise NotFixed(f"{_name(target)} is left as it is: {error}") from error


def _name(target: str) -> str:
    return STDIN_FILE if target == STDIN else shown(target)
