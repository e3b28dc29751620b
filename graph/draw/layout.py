"""From an order to coordinates, for any sizes of nodes and labels, in pixels or in characters.

Coordinates are (along, across): along the columns, in which a step advances, and across the tracks, on
which the lanes lie. By construction the boxes of nodes and labels are pairwise apart, and no wire touches a
box that is not one of its ends or its own label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graph.draw.channel import Turn, slots
from graph.draw.grid import Grid

Size = tuple[int, int]
"""(along, across)."""
Point = tuple[int, int]
"""(along, across)."""


class Box(NamedTuple):
    """A rectangle, from `start` to below `end`, each (along, across)."""

    start: Point
    end: Point

    def overlaps(self, other: Box) -> bool:
        """Whether the two share any area."""
        return all(self.start[i] < other.end[i] and other.start[i] < self.end[i] for i in (0, 1))


@dataclass(frozen=True)
class Spacing:
    """The distances that a layout keeps."""

    track: int
    """Between two tracks."""
    wire: int
    """The least across size of a track that has only wires."""
    slot: int
    """Between the vertical parts of two wires in one gap."""
    gap: int
    """From a column to the first of them, and from the last to the next column."""
    arrow: int
    """More of that before a column of nodes, for the heads of arrows."""
    port: int
    """Between two wires at one node."""
    band: int
    """Between a band's edge and its tracks."""


@dataclass(frozen=True)
class Layout:
    """Where everything is."""

    grid: Grid
    nodes: Mapping[str, Box]
    labels: Mapping[int, Box]
    """The label of each wire that has one."""
    wires: Sequence[Sequence[Point]]
    """The corners of each wire, from its producer to its consumer."""
    bands: Sequence[tuple[int, int]]
    """Start and end of each band, across."""
    columns: Sequence[tuple[int, int]]
    """Start and end of each column, along."""
    size: Size


def lay_out(
    grid: Grid,
    nodes: Mapping[str, Size],
    labels: Mapping[int, Size],
    spacing: Spacing,
    least: Sequence[int] = (),
) -> Layout:
    """The layout of an order.

    `labels` has the sizes of the labels of those wires that have one, `least` the least sizes of bands,
    across.
    """
    centres, bands = _across(grid, nodes, labels, spacing, least)
    ports = _ports(grid, centres, spacing)
    turns = _turns(grid, centres, ports)
    places = {gap: slots([turn for _, turn in there], spacing.track) for gap, there in turns.items()}
    columns, gap_starts, length = _along(grid, nodes, labels, spacing, places)
    boxes = {
        name: _box(columns[grid.column[name]][0], nodes[name], centres[grid.on[name]])
        for name in grid.view.nodes
    }
    at = {
        (gap, index): gap_starts[gap] + spacing.gap + slot * spacing.slot + spacing.slot // 2
        for gap, there in turns.items()
        for (index, _), slot in zip(there, places[gap], strict=True)
    }
    wires = [_corners(grid, index, boxes, centres, ports, at) for index in range(len(grid.wires))]
    label_boxes = {
        index: _centred(columns[grid.wires[index].label_column], size, centres[grid.on[index]])
        for index, size in labels.items()
    }
    return Layout(grid, boxes, label_boxes, wires, bands, columns, (length, bands[-1][1] if bands else 0))


def _across(
    grid: Grid, nodes: Mapping[str, Size], labels: Mapping[int, Size], spacing: Spacing, least: Sequence[int]
) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """The centre line of each track, and where each band starts and ends."""
    size = dict.fromkeys(grid.tracks, spacing.wire)
    for item, track in grid.on.items():
        own = nodes[item][1] if isinstance(item, str) else labels.get(item, (0, 0))[1]
        size[track] = max(size[track], own)
    centres: dict[int, int] = {}
    bands: list[tuple[int, int]] = []
    position = 0
    for band in range(len(grid.view.bands)):
        start = position
        position += spacing.band
        for track in (one for one in grid.tracks if grid.band[one] == band):
            centres[track] = position + (size[track] - 1) // 2
            position += size[track] + spacing.track
        position = max(position + spacing.band - spacing.track, start + (least[band] if least else 0))
        bands.append((start, position))
    return centres, bands


def _ports(grid: Grid, centres: Mapping[int, int], spacing: Spacing) -> dict[tuple[str, int, bool], int]:
    """The height at which each wire leaves (True) or enters (False) a node, in the order of their tracks."""
    sides: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for index, wire in enumerate(grid.wires):
        sides[wire.producer, True].append(index)
        sides[wire.consumer, False].append(index)
    found: dict[tuple[str, int, bool], int] = {}
    for (node, leaves), there in sides.items():
        own = grid.on[node]
        ordered = sorted(there, key=lambda index: _port_order(grid, index, centres, centres[own]))
        straight = next((place for place, index in enumerate(ordered) if grid.on[index] == own), None)
        middle = (len(ordered) - 1) / 2 if straight is None else straight
        for place, index in enumerate(ordered):
            found[node, index, leaves] = centres[own] + round((place - middle) * spacing.port)
    return found


def _port_order(grid: Grid, index: int, centres: Mapping[int, int], node: int) -> tuple[int, int, int]:
    """Where a wire's port is among those of a node's side, from above.

    Those that turn back around the node are outermost, that which turns soonest first; the others are in the
    order of their tracks.
    """
    own = centres[grid.on[index]]
    if grid.wires[index].forward:
        return 1, own, index
    return (0 if own < node else 2), -own, index


def _turns(
    grid: Grid, centres: Mapping[int, int], ports: Mapping[tuple[str, int, bool], int]
) -> dict[int, list[tuple[int, Turn]]]:
    """For each gap, named by the column before it, the wires that turn in it."""
    found: dict[int, list[tuple[int, Turn]]] = {gap: [] for gap in range(-1, grid.columns)}
    for index, wire in enumerate(grid.wires):
        leave, enter = ports[wire.producer, index, True], ports[wire.consumer, index, False]
        own = centres[grid.on[index]]
        if not wire.forward:
            found[wire.tail].append((index, Turn((leave, own), ())))
            found[wire.head - 1].append((index, Turn((), (own, enter))))
            continue
        if leave != own:
            found[wire.tail].append((index, Turn((leave,), (own,))))
        if enter != own:
            found[wire.head - 1].append((index, Turn((own,), (enter,))))
    return found


def _along(
    grid: Grid,
    nodes: Mapping[str, Size],
    labels: Mapping[int, Size],
    spacing: Spacing,
    places: Mapping[int, Sequence[int]],
) -> tuple[list[tuple[int, int]], dict[int, int], int]:
    """Start and end of each column, the start of each gap, and the whole length."""
    size = [0] * grid.columns
    for name, own in nodes.items():
        size[grid.column[name]] = max(size[grid.column[name]], own[0])
    for index, own in labels.items():
        column = grid.wires[index].label_column
        size[column] = max(size[column], own[0])
    gap_starts = {-1: 0}
    columns = []
    position = 0
    for column in range(-1, grid.columns):
        if column >= 0:
            columns.append((position, position + size[column]))
            position += size[column]
        gap_starts[column] = position
        position += 2 * spacing.gap + (max(places[column], default=-1) + 1) * spacing.slot
        position += spacing.arrow if column % 2 and column + 1 < grid.columns else 0
    return columns, gap_starts, position


def _box(start: int, size: Size, centre: int) -> Box:
    across = centre - (size[1] - 1) // 2
    return Box((start, across), (start + size[0], across + size[1]))


def _centred(column: tuple[int, int], size: Size, centre: int) -> Box:
    return _box(column[0] + (column[1] - column[0] - size[0]) // 2, size, centre)


def _corners(
    grid: Grid,
    index: int,
    boxes: Mapping[str, Box],
    centres: Mapping[int, int],
    ports: Mapping[tuple[str, int, bool], int],
    at: Mapping[tuple[int, int], int],
) -> list[Point]:
    wire = grid.wires[index]
    leave, enter = ports[wire.producer, index, True], ports[wire.consumer, index, False]
    own = centres[grid.on[index]]
    points = [(boxes[wire.producer].end[0], leave)]
    if (turn := at.get((wire.tail, index))) is not None and leave != own:
        points += [(turn, leave), (turn, own)]
    if (turn := at.get((wire.head - 1, index))) is not None and enter != own:
        points += [(turn, own), (turn, enter)]
    return [*points, (boxes[wire.consumer].start[0], enter)]
