"""The order in a picture: nodes and wires on tracks, so that few wires cross and most run straight.

Columns alternate: even ones hold nodes, odd ones the labels of edges. A wire leaves its producer, turns in
the gap behind it to a track of its own, follows that through whole columns, and turns in the gap before its
consumer. No two items share a track in one column, so whatever sizes are given to tracks and columns,
nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from graph.draw.crossings import LEFT, RIGHT, THROUGH, Piece, crossings
from graph.draw.view import View

CROSSING, TRACK, BEND, LENGTH, AWAY = 100.0, 8.0, 3.0, 1.0, 12.0
"""What a crossing, a track, a turn of a wire, a track's height of wire, and a wire in a strange band cost."""

Item = str | int
"""A node by its name, a wire by its place among the view's links."""


@dataclass(frozen=True)
class Wire:
    """A link with its columns: from behind `tail` (its producer's) to before `head` (its consumer's)."""

    producer: str
    consumer: str
    tail: int
    head: int

    @property
    def forward(self) -> bool:
        return self.tail < self.head

    @property
    def span(self) -> tuple[int, int]:
        """The columns that it runs through on its own track."""
        return (self.tail + 1, self.head - 1) if self.forward else (self.head, self.tail)

    @property
    def label_column(self) -> int:
        """The column of its label: behind its producer, or for one that leads back, behind its consumer."""
        return self.tail + 1 if self.forward else min(self.head + 1, self.tail)

    def passes(self, own: Item) -> Iterator[tuple[int, int, Item, Item]]:
        """For each gap it passes, named by the column before it, what it does there, and from and to whose track."""
        first, last = self.tail, self.head - 1
        if self.forward:
            yield first, THROUGH, self.producer, own
            yield last, THROUGH, own, self.consumer
            between = range(first + 1, last)
        else:
            yield first, LEFT, self.producer, own
            yield last, RIGHT, own, self.consumer
            between = range(last + 1, first)
        for gap in between:
            yield gap, THROUGH, own, own


@dataclass
class Grid:
    """The tracks from top to bottom, each in a band, with what is on them."""

    view: View
    column: dict[str, int]
    wires: list[Wire]
    tracks: list[int] = field(default_factory=list)
    """Names of tracks, from top to bottom."""
    band: dict[int, int] = field(default_factory=dict)
    """The band of each track."""
    on: dict[Item, int] = field(default_factory=dict)
    """The track of each node and wire."""

    @property
    def columns(self) -> int:
        return max(self.column.values(), default=-1) + 1

    def crossings(self) -> int:
        """How often wires cross."""
        return sum(map(crossings, self._gaps()))

    def pairs(self) -> int:
        """How many pairs of wires meet in a gap, which is what it takes to count the crossings."""
        return sum(len(there) * (len(there) - 1) // 2 for there in self._passes)

    @cached_property
    def _passes(self) -> list[list[tuple[int, Item, Item]]]:
        """For each gap what the wires do there, with the items on whose tracks they do it."""
        gaps: dict[int, list[tuple[int, Item, Item]]] = {}
        for index, wire in enumerate(self.wires):
            for gap, kind, a, b in wire.passes(index):
                gaps.setdefault(gap, []).append((kind, a, b))
        return list(gaps.values())

    def _gaps(self) -> list[list[Piece]]:
        """For each gap what the wires do there."""
        place = {track: place for place, track in enumerate(self.tracks)}
        height = {item: place[track] for item, track in self.on.items()}
        return [[Piece(kind, height[a], height[b]) for kind, a, b in there] for there in self._passes]

    def cost(self) -> float:
        """What the search makes small."""
        height = {track: place for place, track in enumerate(self.tracks)}
        total = CROSSING * self.crossings() + TRACK * len(self.tracks)
        for index, wire in enumerate(self.wires):
            own, *ends = (self.on[item] for item in (index, wire.producer, wire.consumer))
            low, high = sorted((self.band[ends[0]], self.band[ends[1]]))
            total += AWAY * (not low <= self.band[own] <= high)
            for end in ends:
                total += LENGTH * abs(height[own] - height[end]) + BEND * (own != end)
        return total

    def span(self, item: Item) -> tuple[int, int]:
        """The first and last column in which the item has its track for itself."""
        if isinstance(item, int):
            return self.wires[item].span
        return self.column[item], self.column[item]

    def free(self, track: int, item: Item) -> bool:
        """Whether the item's columns are free on a track, the item itself aside."""
        low, high = self.span(item)
        return all(
            other == item
            or where != track
            or not (low <= self.span(other)[1] and self.span(other)[0] <= high)
            for other, where in self.on.items()
        )

    def add_track(self, band: int, place: int) -> int:
        """A new track in a band, at a place among the tracks."""
        name = max(self.band, default=-1) + 1
        self.tracks.insert(place, name)
        self.band[name] = band
        return name

    def state(self) -> tuple[list[int], dict[int, int], dict[Item, int]]:
        """The order as it is, for `restore`."""
        return list(self.tracks), dict(self.band), dict(self.on)

    def restore(self, state: tuple[list[int], dict[int, int], dict[Item, int]]) -> None:
        """The order as it was."""
        self.tracks, self.band, self.on = list(state[0]), dict(state[1]), dict(state[2])

    def drop_empty(self) -> None:
        """Without the tracks that nothing is on."""
        used = set(self.on.values())
        self.tracks = [track for track in self.tracks if track in used]
