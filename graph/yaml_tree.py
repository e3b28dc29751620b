"""YAML 1.2 (core schema) into a tree that remembers where each thing stands.

Bounded in size, nesting and alias expansion; no tag builds anything but the plain types, so reading a file can
neither run code nor exhaust memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from graph.diagnostics import Diagnostic, Location, TopologyError

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_ITEMS = 100_000
MAX_TEXT = 1000
LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""Where the YAML reader starts a new line; `str.splitlines` knows more ends, and would count differently."""
_FOREIGN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML lets no file hold, such as NUL."""
_TAGS = {
    yaml.ScalarEvent: "tag:yaml.org,2002:str",
    yaml.SequenceStartEvent: "tag:yaml.org,2002:seq",
    yaml.MappingStartEvent: "tag:yaml.org,2002:map",
}

_Loader: Any = getattr(yaml, "CLoader", yaml.Loader)


@dataclass(frozen=True, slots=True)
class Scalar:
    value: str | int | float | bool | None
    at: Location


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Item, ...]
    at: Location


@dataclass(frozen=True, slots=True)
class Mapping:
    items: dict[str, Item]
    keys: dict[str, Location]
    at: Location


Item = Scalar | Sequence | Mapping


def parse(text: str, file: str) -> Item:
    """The one document in `text`; raises `TopologyError` with LF001 at the place of the fault."""
    if foreign := _FOREIGN.search(text):
        *before, last = LINE_END.split(text[: foreign.start()])
        at = Location(file, len(before) + 1, len(last) + 1)
        raise _fault(at, f"not YAML: character U+{ord(foreign[0]):04X}", "take the character out")
    try:
        events = yaml.parse(text, Loader=_Loader)
        return _Composer(file, events).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = Location(file, mark.line + 1, mark.column + 1) if mark else Location(file, 1, 1)
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise _fault(at, f"not YAML: {what}", "correct the YAML at this place") from None
    except yaml.YAMLError as error:
        raise _fault(Location(file, 1, 1), f"not YAML: {error}", "save the file as UTF-8 text") from None


def _fault(at: Location, message: str, help_line: str) -> TopologyError:
    return TopologyError([Diagnostic(at, "LF001", message, help_line)])


class _Composer:
    """Builds the tree from parser events, counting every item that an alias repeats."""

    def __init__(self, file: str, events: Iterator[Any]) -> None:
        self.file = file
        self.events = events
        self.anchors: dict[str, tuple[Item, int]] = {}
        self.count = 0

    def document(self) -> Item:
        item: Item | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if item is not None:
                    raise _fault(
                        self._at(event), "a second document in one file", "keep one topology per file"
                    )
                item = self._item(next(self.events), 0)
        if item is None:
            raise _fault(
                Location(self.file, 1, 1), "the file is empty", "write a topology: nodes, edges, lanes"
            )
        return item

    def _at(self, event: Any) -> Location:
        return Location(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _item(self, event: Any, depth: int) -> Item:
        at = self._at(event)
        if depth > MAX_DEPTH:
            raise _fault(at, f"nested deeper than {MAX_DEPTH} levels", "flatten the file")
        before = self.count
        self._add(1, at)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise _fault(
                    at, f"alias `*{event.anchor}` has no anchor before it", f"define `&{event.anchor}` first"
                )
            item, size = self.anchors[event.anchor]
            self._add(size, at)
            return item
        self._refuse_tag(event, at)
        if isinstance(event, yaml.ScalarEvent):
            item = Scalar(_scalar(event, at), at)
        elif isinstance(event, yaml.SequenceStartEvent):
            item = Sequence(tuple(self._sequence(depth)), at)
        else:
            item = self._mapping(at, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (item, self.count - before)
        return item

    @staticmethod
    def _refuse_tag(event: Any, at: Location) -> None:
        if event.tag not in (None, "!", _TAGS[type(event)]):
            raise _fault(at, f"tag `{event.tag}` is not part of the language", "drop the tag")

    def _add(self, size: int, at: Location) -> None:
        self.count += size
        if self.count > MAX_ITEMS:
            raise _fault(
                at, f"more than {MAX_ITEMS} items, aliases expanded", "split the file or drop the aliases"
            )

    def _sequence(self, depth: int) -> Iterator[Item]:
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            yield self._item(event, depth + 1)

    def _mapping(self, at: Location, depth: int) -> Mapping:
        items: dict[str, Item] = {}
        keys: dict[str, Location] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            where = self._at(event)
            key = self._item(event, depth + 1)
            if not isinstance(key, Scalar):
                raise _fault(where, "a key must be plain text", "write the key as a name")
            name = event.value if isinstance(event, yaml.ScalarEvent) else str(key.value)
            if name in items:
                raise _fault(
                    where,
                    f"key `{name}` is given twice",
                    f"keep one `{name}` (line {keys[name].line} is the first)",
                )
            items[name] = self._item(next(self.events), depth + 1)
            keys[name] = where
        return Mapping(items, keys, at)


_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), float("inf")),
    "-.inf": float("-inf"),
    ".nan": float("nan"),
}


def _scalar(event: Any, at: Location) -> str | int | float | bool | None:
    text: str = event.value
    if len(text) > MAX_TEXT:
        raise _fault(at, f"a text of {len(text)} characters, which is more than {MAX_TEXT}", "shorten it")
    if event.tag or event.style not in (None, ""):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 64:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text


def plain(item: Item) -> Any:
    """The tree as dicts, lists and scalars."""
    if isinstance(item, Scalar):
        return item.value
    if isinstance(item, Sequence):
        return [plain(child) for child in item.items]
    return {key: plain(child) for key, child in item.items.items()}


def places(item: Item) -> dict[tuple[str | int, ...], Location]:
    """Where each path of the tree stands; a mapping's entry stands at its key."""
    found: dict[tuple[str | int, ...], Location] = {(): item.at}

    def walk(child: Item, path: tuple[str | int, ...]) -> None:
        if isinstance(child, Sequence):
            for index, element in enumerate(child.items):
                found[(*path, index)] = element.at
                walk(element, (*path, index))
        elif isinstance(child, Mapping):
            for key, value in child.items.items():
                found[(*path, key)] = child.keys[key]
                walk(value, (*path, key))

    walk(item, ())
    return found
