"""The search for the order in a picture: first by rule, then by moves that each lower the cost.

The result depends on the view alone. Where the budget ends the search, the picture has more crossings than it
needs, and is correct all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from graph.draw.grid import Grid, Item, Wire
from graph.draw.ranks import components, ranks
from graph.draw.view import View

MOST_WORK = 3_000_000
"""Pairs of wires that may be compared in search of a better order: about a second."""
EACH_ITEM = 20
"""What moving an item costs beside that, for each item of the picture, in pairs."""


def arrange(view: View) -> Grid:
    """A view's nodes and wires on tracks, in the best order found.

    Where wires cross still, groups of nodes that no edge joins to the rest are moved along.
    """
    rank = ranks(view)
    best, left = _arranged(view, rank, MOST_WORK)
    for group in components(view):
        room = max(rank.values()) - max(rank[node] for node in group)
        for shift in range(1, room + 1):
            if left <= 0 or not best.crossings():
                return best
            moved = {node: place + shift * (node in group) for node, place in rank.items()}
            other, left = _arranged(view, moved, left)
            best = min(best, other, key=Grid.cost)
    return best


def _arranged(view: View, rank: Mapping[str, int], budget: int) -> tuple[Grid, int]:
    """A grid with given ranks, and what is left of the budget."""
    column = {name: 2 * place for name, place in rank.items()}
    wires = [
        Wire(link.key.producer, link.key.consumer, column[link.key.producer], column[link.key.consumer])
        for link in view.links
    ]
    grid = Grid(view, column, wires)
    _place_nodes(grid)
    _place_wires(grid)
    grid.drop_empty()
    return grid, improve(grid, budget)


def _place_nodes(grid: Grid) -> None:
    """Each group of joined nodes gets tracks of its own in each band that it is in."""
    for group in components(grid.view):
        own: dict[int, list[int]] = {}
        for node in sorted(group, key=lambda name: grid.column[name]):
            band = grid.view.band_of(node)
            tracks = own.setdefault(band, [])
            track = next((one for one in tracks if grid.free(one, node)), None)
            if track is None:
                track = grid.add_track(band, _end_of(grid, band))
                tracks.append(track)
            grid.on[node] = track


def _end_of(grid: Grid, band: int) -> int:
    """The place behind the last track of a band."""
    return next((i for i, track in enumerate(grid.tracks) if grid.band[track] > band), len(grid.tracks))


def _place_wires(grid: Grid) -> None:
    """Each wire goes to its producer's or its consumer's track, or to a new one beside the producer's."""
    for index, wire in enumerate(grid.wires):
        ends = grid.on[wire.producer], grid.on[wire.consumer]
        track = next((one for one in ends if grid.free(one, index)), None)
        if track is None:
            track = grid.add_track(grid.band[ends[0]], grid.tracks.index(ends[0]) + 1)
        grid.on[index] = track


def improve(grid: Grid, budget: int) -> int:
    """Move single items and whole tracks, as long as that lowers the cost; what is left of the budget."""
    each = grid.pairs() + EACH_ITEM * len(grid.on) + 1
    best, better = grid.cost(), True
    while better:
        better = False
        before = grid.state()
        for _ in moves(grid):
            budget -= each
            if budget < 0:
                grid.restore(before)
                return 0
            grid.drop_empty()
            cost = grid.cost()
            if cost < best:
                best, better, before = cost, True, grid.state()
            else:
                grid.restore(before)
    return budget


def moves(grid: Grid) -> Iterator[None]:
    """Each change that may be tried, made; whoever takes it from here keeps it or undoes it."""
    items: list[Item] = [*grid.view.nodes, *range(len(grid.wires))]
    for item in items:
        bands = _allowed(grid, item)
        for track in list(grid.tracks):
            if (
                grid.band[track] in bands
                and grid.on[item] != track
                and track in grid.tracks
                and grid.free(track, item)
            ):
                grid.on[item] = track
                yield
        for band in bands:
            for place in range(len(grid.tracks) + 1):
                if _borders(grid, place, band):
                    grid.on[item] = grid.add_track(band, place)
                    yield
    for one, other in combinations(range(len(grid.tracks)), 2):
        if other < len(grid.tracks) and grid.band[grid.tracks[one]] == grid.band[grid.tracks[other]]:
            tracks = grid.tracks
            tracks[one], tracks[other] = tracks[other], tracks[one]
            yield


def _allowed(grid: Grid, item: Item) -> range:
    """The bands in which an item may be: a node's own, and for a wire every one."""
    if isinstance(item, int):
        return range(len(grid.view.bands))
    own = grid.view.band_of(item)
    return range(own, own + 1)


def _borders(grid: Grid, place: int, band: int) -> bool:
    """Whether a track put at a place among the tracks is beside one of the band."""
    around = grid.tracks[max(0, place - 1) : place + 1]
    return any(grid.band[track] == band for track in around)
