"""A list in YAML text turned into another by position, and values spelt as YAML."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import yaml

_PLAIN = re.compile(r"[A-Za-z_][\w.@]*( -> [A-Za-z_]\w*)?")
_WORDS = ("null", "true", "false")

_Cut = tuple[int, int, str]


class CannotPlace(Exception):
    """The text has a shape in which a change has no certain place; the message says which."""


def render(value: Any) -> str:
    """Plain data as YAML in flow style, on one line, quoted only where it must be."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render(key)}: {render(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(render(item) for item in value) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def line_start(text: str, index: int) -> int:
    """Where the line of `index` begins."""
    return text.rfind("\n", 0, index) + 1


def line_end(text: str, index: int, with_newline: bool = False) -> int:
    """Where the line of `index` ends, in front of its line break or behind it."""
    end = text.find("\n", index)
    if end < 0:
        return len(text)
    if with_newline:
        return end + 1
    return end - 1 if text[end - 1] == "\r" else end


def become(text: str, node: yaml.SequenceNode, values: list[str]) -> str:
    """The text with the list at `node` holding `values`, rendered ones; what stays at its ends is kept.

    Neither list may be empty. Raises `CannotPlace`.
    """
    items: list[yaml.Node] = node.value
    if not all(isinstance(item, yaml.ScalarNode) for item in items):
        raise CannotPlace("a list holds more than names")
    if any(later.start_mark.index < item.end_mark.index for item, later in pairwise(items)):
        raise CannotPlace("a list holds an alias")
    old = [render(item.value) for item in items]
    head = _common(old, values)
    tail = _common(old[head:][::-1], values[head:][::-1])
    fresh = values[head : len(values) - tail]
    change = _flow if node.flow_style else _block
    for start, end, instead in sorted(change(text, items, head, len(old) - tail, fresh), reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def _flow(text: str, items: list[yaml.Node], start: int, stop: int, fresh: list[str]) -> list[_Cut]:
    """The cuts that put `fresh` in the place of `items[start:stop]` between brackets."""
    del text
    joined = ", ".join(fresh)
    if start < stop and fresh:
        return [(items[start].start_mark.index, items[stop - 1].end_mark.index, joined)]
    if fresh:
        if start:
            return [(at := items[start - 1].end_mark.index, at, f", {joined}")]
        return [(at := items[0].start_mark.index, at, f"{joined}, ")]
    if start:
        return [(items[start - 1].end_mark.index, items[stop - 1].end_mark.index, "")]
    return [(items[0].start_mark.index, items[stop].start_mark.index, "")] if stop else []


def _block(text: str, items: list[yaml.Node], start: int, stop: int, fresh: list[str]) -> list[_Cut]:
    """The cuts that put `fresh` in the place of `items[start:stop]`, one a line."""
    first = items[0].start_mark.index
    dash = text[line_start(text, first) : first]
    if dash.strip() != "-":
        raise CannotPlace("a list's first element does not stand on a line of its own")
    kept = min(stop - start, len(fresh))
    cuts = [
        (item.start_mark.index, item.end_mark.index, value)
        for item, value in zip(items[start : start + kept], fresh, strict=False)
    ]
    for item in items[start + kept : stop]:
        end = line_end(text, item.end_mark.index, with_newline=True)
        cuts.append((line_start(text, item.start_mark.index), end, ""))
    if fresh[kept:]:
        newline = "\r\n" if "\r\n" in text else "\n"
        at = start + kept
        if at:
            place = line_end(text, items[at - 1].end_mark.index)
            cuts.append((place, place, "".join(f"{newline}{dash}{value}" for value in fresh[kept:])))
        else:
            place = line_start(text, first)
            cuts.append((place, place, "".join(f"{dash}{value}{newline}" for value in fresh)))
    return cuts


def _common(first: list[str], second: list[str]) -> int:
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return count
