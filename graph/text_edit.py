"""Changes to YAML text by position: only the characters that a change concerns are touched.

Knows YAML's block and flow styles and nothing of topologies. Each operation answers with new text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml

from graph.text_list import CannotPlace, become, line_end, line_start, render

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ALIAS = re.compile(r"\s*:\s*\*[^\s,\]}]+")


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
        """The text with `value` at `path`; entries missing on the way are made, in the style found there."""
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
        above = self._entry(path[:-1])
        parent = above[1] if above else self.root
        if not isinstance(parent, yaml.MappingNode):
            raise CannotPlace(f"`{'.'.join(path)}` is not in this file")
        entries = parent.value
        place = next(index for index, (key, _) in enumerate(entries) if key.value == path[-1])
        if len(entries) == 1:
            if len(path) == 1:
                raise CannotPlace(f"`{path[0]}` is all that the file says")
            return self._replaced(path[:-1], {})
        key, _ = entries[place]
        end = self._end_of_entry(entries[place])
        if parent.flow_style:
            start = self._end_of_entry(entries[place - 1]) if place else key.start_mark.index
            return self._cut(start, end if place else entries[1][0].start_mark.index)
        start = line_start(self.text, key.start_mark.index)
        if self.text[start : key.start_mark.index].strip():
            raise CannotPlace(f"`{path[-1]}` does not begin its line")
        return self._cut(start, line_end(self.text, end, with_newline=True))

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
            return become(self.text, node, [render(item) for item in value])
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
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
        at = line_end(self.text, self._end_of_entry(node.value[-1]))
        return self._cut(at, at, self.newline + indent + entry)

    def _collapsed(self, key: yaml.Node, node: yaml.Node, rendered: str) -> str:
        """A block under `key` becomes one value on the key's line, whose comment stays."""
        colon = self._colon(key)
        end = line_end(self.text, colon)
        return (
            self.text[: colon + 1]
            + f" {rendered}"
            + self.text[colon + 1 : end]
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
        if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
            return node.end_mark.index
        if isinstance(node, yaml.MappingNode):
            return self._end_of_entry(node.value[-1])
        return self._end(node.value[-1])

    def _cut(self, start: int, end: int, instead: str = "") -> str:
        return self.text[:start] + instead + self.text[end:]


def _find(node: yaml.MappingNode, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    return next(((name, value) for name, value in node.value if name.value == key), None)


def _nested(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value
