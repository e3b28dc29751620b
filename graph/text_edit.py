"""Changes to YAML text by position: only the characters that a change concerns are touched.

Knows YAML's block and flow styles and nothing of topologies. Each operation answers with new text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = re.compile(r"[A-Za-z_][\w.@]*( -> [A-Za-z_]\w*)?")
_WORDS = ("null", "true", "false")
_ALIAS = re.compile(r"\s*:\s*\*[^\s,\]}]+")


class CannotPlace(Exception):
    """The text has a shape in which this change has no certain place; the message says which."""


def render(value: Any) -> str:
    """Plain data as YAML in flow style, on one line, quoted only where it must be."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render(key)}: {render(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(render(item) for item in value) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


class Document:
    """One YAML document and where its parts stand; `path` is always a tuple of mapping keys."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def has(self, path: Sequence[str]) -> bool:
        """Whether the text itself has an entry at `path`."""
        return self._entry(path) is not None

    def is_list(self, path: Sequence[str]) -> bool:
        """Whether the entry at `path` is a sequence."""
        entry = self._entry(path)
        return entry is not None and isinstance(entry[1], yaml.SequenceNode)

    def keys(self, path: Sequence[str]) -> tuple[str, ...]:
        """The keys of the mapping at `path`, as spelt; none where it is not there."""
        entry = self._entry(path)
        node = entry[1] if entry else None
        return tuple(key.value for key, _ in node.value) if isinstance(node, yaml.MappingNode) else ()

    def set(self, path: Sequence[str], value: Any) -> str:
        """The text with `value` at `path`; entries that lack on the way are made, in the style that is there."""
        node: yaml.Node | None = self.root
        for depth, key in enumerate(path):
            if not isinstance(node, yaml.MappingNode):
                return self._filled(path[:depth], _nested(path[depth:], value))
            entry = _find(node, key)
            if entry is None:
                return self._inserted(node, path[depth:], value)
            self._refuse_alias(entry, key)
            node = entry[1]
        return self._replaced(path, value)

    def removed(self, path: Sequence[str]) -> str:
        """The text without the entry at `path`; a mapping that this leaves empty stays, as `{}`."""
        parent = self._entry(path[:-1])[1] if len(path) > 1 else self.root  # type: ignore[index]
        entries = parent.value  # type: ignore[union-attr]
        place = next(index for index, (key, _) in enumerate(entries) if key.value == path[-1])
        if len(entries) == 1:
            if len(path) == 1:
                raise CannotPlace(f"`{path[0]}` is all that the file says")
            return self._replaced(path[:-1], {})
        key, _ = entries[place]
        end = self._end_of_entry(entries[place])
        if parent.flow_style:  # type: ignore[union-attr]
            start = self._end_of_entry(entries[place - 1]) if place else key.start_mark.index
            return self._cut(start, end if place else entries[1][0].start_mark.index)
        start = self._line_start(key.start_mark.index)
        if self.text[start : key.start_mark.index].strip():
            raise CannotPlace(f"`{path[-1]}` does not begin its line")
        return self._cut(start, self._line_end(end, with_newline=True))

    def renamed(self, path: Sequence[str], key: str) -> str:
        """The text with another key for the entry at `path`."""
        entry = self._entry(path)
        if entry is None:
            raise CannotPlace(f"`{'.'.join(path)}` is not in this file")
        return self._cut(entry[0].start_mark.index, entry[0].end_mark.index, render(key))

    def _entry(self, path: Sequence[str]) -> tuple[yaml.Node, yaml.Node] | None:
        node: yaml.Node | None = self.root
        entry = None
        for key in path:
            entry = _find(node, key) if isinstance(node, yaml.MappingNode) else None
            if entry is None:
                return None
            node = entry[1]
        return entry

    def _replaced(self, path: Sequence[str], value: Any) -> str:
        key, node = self._entry(path)  # type: ignore[misc]
        if isinstance(value, dict) and value and isinstance(node, yaml.MappingNode):
            return self._merged(path, node, value)
        if isinstance(value, list) and value and isinstance(node, yaml.SequenceNode) and node.value:
            return _SequenceEdit(self, node).become([str(item) for item in value])
        if not isinstance(node, yaml.ScalarNode) and not node.flow_style:
            return self._collapsed(key, node, render(value))
        start, end = node.start_mark.index, self._end(node)
        return self._cut(start, end, render(value) if end > start else f" {render(value)}")

    def _merged(self, path: Sequence[str], node: yaml.MappingNode, value: dict[str, Any]) -> str:
        text = self.text
        for key in [key.value for key, _ in node.value if key.value not in value]:
            text = Document(text).removed((*path, key))
        for key, item in value.items():
            text = Document(text).set((*path, key), item)
        return text

    def _filled(self, path: Sequence[str], value: Any) -> str:
        """Give a value to an entry that stands there empty."""
        entry = self._entry(path)
        if (
            entry is None
            or not isinstance(entry[1], yaml.ScalarNode)
            or entry[1].value not in ("", "null", "~")
        ):
            raise CannotPlace(f"`{'.'.join(path)}` has no entries" if path else "the file is not a mapping")
        return self._replaced(path, value)

    def _inserted(self, node: yaml.MappingNode, keys: Sequence[str], value: Any) -> str:
        entry = f"{render(keys[0])}: {render(_nested(keys[1:], value))}"
        if node.flow_style:
            if not node.value:
                return self._cut(node.start_mark.index, node.end_mark.index, "{" + entry + "}")
            return self._cut(at := self._end_of_entry(node.value[-1]), at, f", {entry}")
        indent = " " * node.value[0][0].start_mark.column
        if node is self.root and len(keys) > 1:
            below = f"{render(keys[1])}: {render(_nested(keys[2:], value))}"
            entry = f"{render(keys[0])}:{self.newline}  {below}"
        at = self._line_end(self._end_of_entry(node.value[-1]))
        return self._cut(at, at, self.newline + indent + entry)

    def _collapsed(self, key: yaml.Node, node: yaml.Node, rendered: str) -> str:
        """A block under `key` becomes one value on the key's line, whose comment stays."""
        colon = self._colon(key)
        line_end = self._line_end(colon)
        return (
            self.text[: colon + 1]
            + f" {rendered}"
            + self.text[colon + 1 : line_end]
            + self.text[self._end(node) :]
        )

    def _refuse_alias(self, entry: tuple[yaml.Node, yaml.Node], name: str) -> None:
        key, node = entry
        anchor = re.match(r"\s*:\s*&", self.text[key.end_mark.index :])
        if node.start_mark.index < key.end_mark.index or anchor:
            raise CannotPlace(f"`{name}` is shared by an anchor and its aliases")

    def _colon(self, key: yaml.Node) -> int:
        match = re.match(r"\s*:", self.text[key.end_mark.index :])
        if match is None:
            raise CannotPlace("a key is written in the long form `? key`")
        return key.end_mark.index + match.end() - 1

    def _end_of_entry(self, entry: tuple[yaml.Node, yaml.Node]) -> int:
        key, node = entry
        if node.start_mark.index < key.end_mark.index:
            match = _ALIAS.match(self.text, key.end_mark.index)
            return match.end() if match else key.end_mark.index
        return self._end(node)

    def _end(self, node: yaml.Node) -> int:
        """Behind the last character of a node; a block's end mark would stand at the next token instead."""
        if isinstance(node, yaml.ScalarNode):
            end = node.end_mark.index
            return len(self.text[:end].rstrip()) if node.style in ("|", ">") else end
        if node.flow_style or not node.value:
            return node.end_mark.index
        if isinstance(node, yaml.MappingNode):
            return self._end_of_entry(node.value[-1])
        return self._end(node.value[-1])

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int, with_newline: bool = False) -> int:
        end = self.text.find("\n", index)
        if end < 0:
            return len(self.text)
        if with_newline:
            return end + 1
        return end - 1 if self.text[end - 1] == "\r" else end

    def _cut(self, start: int, end: int, instead: str = "") -> str:
        return self.text[:start] + instead + self.text[end:]


class _SequenceEdit:
    """Turns one list of the text into another, keeping the text of every element that stays in place."""

    def __init__(self, document: Document, node: yaml.SequenceNode) -> None:
        self.document = document
        self.node = node
        self.items: list[yaml.Node] = node.value
        if not all(isinstance(item, yaml.ScalarNode) for item in self.items):
            raise CannotPlace("a list holds more than names")
        if any(
            b.start_mark.index < a.end_mark.index for a, b in zip(self.items, self.items[1:], strict=False)
        ):
            raise CannotPlace("a list holds an alias")

    def become(self, values: list[str]) -> str:
        old = [item.value for item in self.items]
        head = _common(old, values)
        tail = _common(old[head:][::-1], values[head:][::-1])
        fresh = values[head : len(values) - tail]
        stop = len(old) - tail
        change = self._flow if self.node.flow_style else self._block
        return change(head, stop, [render(value) for value in fresh])

    def _flow(self, start: int, stop: int, fresh: list[str]) -> str:
        document, items = self.document, self.items
        text = ", ".join(fresh)
        if start < stop and fresh:
            return document._cut(items[start].start_mark.index, items[stop - 1].end_mark.index, text)
        if fresh:
            if start:
                return document._cut(at := items[start - 1].end_mark.index, at, f", {text}")
            return document._cut(at := items[0].start_mark.index, at, f"{text}, ")
        if start:
            return document._cut(items[start - 1].end_mark.index, items[stop - 1].end_mark.index)
        return document._cut(items[0].start_mark.index, items[stop].start_mark.index)

    def _block(self, start: int, stop: int, fresh: list[str]) -> str:
        document, items = self.document, self.items
        dash = document.text[document._line_start(items[0].start_mark.index) : items[0].start_mark.index]
        if dash.strip() != "-":
            raise CannotPlace("a list's first element does not stand on a line of its own")
        kept = min(stop - start, len(fresh))
        edits = [
            (items[start + place].start_mark.index, items[start + place].end_mark.index, fresh[place])
            for place in range(kept)
        ]
        for item in items[start + kept : stop]:
            begin = document._line_start(item.start_mark.index)
            edits.append((begin, document._line_end(item.end_mark.index, with_newline=True), ""))
        if fresh[kept:]:
            lines = "".join(f"{dash}{value}{document.newline}" for value in fresh[kept:])
            at = start + kept
            if at:
                place = document._line_end(items[at - 1].end_mark.index)
                edits.append((place, place, document.newline + lines.removesuffix(document.newline)))
            else:
                place = document._line_start(items[0].start_mark.index)
                edits.append((place, place, lines))
        text = document.text
        for begin, end, instead in sorted(edits, reverse=True):
            text = text[:begin] + instead + text[end:]
        return text


def _common(first: list[str], second: list[str]) -> int:
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return count


def _find(node: yaml.MappingNode, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    return next(((name, value) for name, value in node.value if name.value == key), None)


def _nested(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value
