"""Choices to compare: `path=values`, where a path may have `*` for every name that a topology has there."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from graph.topology import Topology

MOST_CHOICES = 10_000
"""Combinations of one sweep at most."""
SECTIONS = ("dims", "types", "buffers", "nodes", "edges", "lanes", "routes", "costs")
WILDCARD = re.compile(r"[*?\[]")
RANGE = re.compile(r"\s*([0-9]{1,6})\.\.([0-9]{1,6})\s*")


class Axis(NamedTuple):
    """One value for all the paths at once, out of several."""

    pattern: str
    paths: tuple[str, ...]
    values: tuple[str, ...]


class Choice(NamedTuple):
    """One value of each axis."""

    settings: Mapping[str, str]
    """Patterns with their values, as the user wrote them."""
    overrides: tuple[str, ...]
    """The same for each path by itself, as `path=value`."""


def axis(text: str, topology: Topology) -> Axis:
    """From `buffers.*.slots=1..4` or `lanes.host.worker=thread,process`; a wildcard stands for names there.

    Persistent buffers have no slots to choose. Raises `ValueError` where the text is not of this form or
    names nothing.
    """
    pattern, equals, listed = text.partition("=")
    pattern = pattern.strip()
    values = tuple(_values(listed)) if equals and pattern else ()
    if not values:
        raise ValueError(f"`{text}` is not PATH=VALUES, as in `buffers.*.slots=1..4` or `in_flight=2,3`")
    return Axis(pattern, tuple(_paths(pattern, topology)), values)


def choices(axes: Sequence[Axis]) -> list[Choice]:
    """Every combination, the last axis fastest; raises `ValueError` where there are too many."""
    count = 1
    for one in axes:
        count *= len(one.values)
    if count > MOST_CHOICES:
        raise ValueError(f"{count} choices, which is more than {MOST_CHOICES}: sweep fewer values")
    return [
        Choice(
            {one.pattern: value for one, value in zip(axes, values, strict=True)},
            tuple(f"{path}={value}" for one, value in zip(axes, values, strict=True) for path in one.paths),
        )
        for values in itertools.product(*(one.values for one in axes))
    ]


def _values(listed: str) -> Iterator[str]:
    """The words between commas, ranges written out; commas within brackets are part of a word."""
    for word in _words(listed):
        if bounds := RANGE.fullmatch(word):
            first, last = int(bounds[1]), int(bounds[2])
            if last - first >= MOST_CHOICES:
                raise ValueError(f"`{word.strip()}` has more than {MOST_CHOICES} values")
            if last < first:
                raise ValueError(f"`{word.strip()}` is empty: write the smaller number first")
            yield from map(str, range(first, last + 1))
        elif word.strip():
            yield word.strip()


def _words(listed: str) -> Iterator[str]:
    depth, word = 0, ""
    for character in listed:
        depth += (character in "[{") - (character in "]}")
        if character == "," and not depth:
            yield word
            word = ""
        else:
            word += character
    yield word


def _paths(pattern: str, topology: Topology) -> Iterator[str]:
    if not WILDCARD.search(pattern):
        yield pattern
        return
    section, _, rest = pattern.partition(".")
    name, dot, field = rest.partition(".")
    if WILDCARD.search(section + field) or section not in SECTIONS:
        raise ValueError(f"`{pattern}`: a wildcard stands for a name, as in `buffers.*.slots`")
    names = _names(topology, section, field)
    matching = fnmatch.filter(names, name)
    if not matching:
        raise ValueError(f"`{pattern}` matches nothing; {section} has {', '.join(names) or 'no names'}")
    for one in matching:
        yield f"{section}.{one}{dot}{field}"


def _names(topology: Topology, section: str, field: str) -> list[str]:
    if section == "buffers" and field == "slots":
        return [name for name, buffer in topology.buffers.items() if not buffer.persistent]
    return [str(key) for key in getattr(topology, section)]
