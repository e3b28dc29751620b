"""Edits to a topology, made in the file's own text: comments, order and every other line stay as they are.

What `extends` brings in is never changed where it stands: the file given gets an entry that overrides it, or
`null` where something inherited goes away. The new text is read again and compared with the topology that was
meant; where they differ there is no new text, and `SpliceError` says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from graph.diagnostics import TopologyError
from graph.edits import Edit, EditError, Remove, Set, edited, edited_data, plain
from graph.reading import load_text
from graph.text_edit import Document
from graph.text_list import CannotPlace
from graph.topology import Topology, parse_edge


class SpliceError(Exception):
    """The edits cannot be made in this text; the message names the file and the reason."""


def splice(text: str, file: str, edits: Sequence[Edit], overrides: Sequence[str] = ()) -> str:
    """`text`, the content of `file`, with `edits` made.

    `overrides` are those that the topology was read with. Raises `SpliceError` where the result would not
    read as the edited topology, for instance because an override hides the place, or an alias shares it.
    """
    try:
        origin = load_text(text, file, overrides)
        meant = edited(origin, edits)
    except (TopologyError, EditError, ValidationError) as error:
        raise SpliceError(f"{file}: the edits do not fit the file as it is now: {error}") from None
    reason = "the text would not read as the mended topology"
    for nulls in (False, True):
        try:
            changed = _written(text, edits, plain(origin), nulls)
        except CannotPlace as error:
            reason = str(error)
            continue
        if _reads_as(changed, file, overrides, meant):
            return changed
    raise SpliceError(f"{file}: {reason}; make the change by hand")


def diff(old: str, new: str, file: str) -> str:
    """The unified diff from one text of `file` to another; empty where they are the same."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{file}", f"b/{file}"
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _written(text: str, edits: Sequence[Edit], data: dict[str, Any], nulls: bool) -> str:
    """`data` is what the text means; with `nulls`, what goes away is overridden rather than taken out."""
    for edit in edits:
        document = Document(text)
        path = _spelt(document, edit.path)
        gone = not nulls and document.has(path)
        if isinstance(edit, Set):
            text = document.set(path, edit.value)
        elif isinstance(edit, Remove):
            text = document.removed(path) if gone else document.set(path, None)
        elif gone:
            text = document.renamed(path, edit.key)
        else:
            text = document.set(path, None)
            text = Document(text).set((*path[:-1], edit.key), _at(data, edit.path))
        data = edited_data(data, [edit])
    return text


def _at(data: Any, path: Sequence[str]) -> Any:
    for key in path:
        data = data[key]
    return data


def _spelt(document: Document, path: tuple[str, ...]) -> tuple[str, ...]:
    """The path as this text spells it: a lane may be in its short form, an edge's key spaced otherwise."""
    if len(path) >= 2 and path[0] == "edges":
        for key in document.keys(("edges",)):
            if _edge(key) == _edge(path[1]):
                return ("edges", key, *path[2:])
    if len(path) == 3 and path[0] == "lanes" and path[2] == "nodes" and document.is_list(path[:2]):
        return path[:2]
    return path


def _edge(key: str) -> str:
    try:
        return str(parse_edge(key))
    except ValueError:
        return key


def _reads_as(text: str, file: str, overrides: Sequence[str], meant: Topology) -> bool:
    try:
        found = load_text(text, file, overrides)
    except (TopologyError, yaml.YAMLError):
        return False
    return found.model_dump() == meant.model_dump()
