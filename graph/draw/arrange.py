"""The columns and the order in a picture: by rule, then improved, until no wires cross or the budget ends.

The result depends on the view alone. Where the budget ends the search, the picture may have more crossings than
it needs, and is correct all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from graph.draw.grid import Grid, Wire
from graph.draw.improve import improve, improve_with_wires
from graph.draw.planar import least_crossings
from graph.draw.ranks import components, late, ranks
from graph.draw.view import View

MOST_WORK = 20_000_000
"""Pairs of wires that may be compared in search of a better order: about four seconds."""


def arrange(view: View) -> Grid:
    """A view's nodes and wires on tracks, in the best columns and the best order found."""
    early = ranks(view)
    starts = [early, late(view, early)]
    grids: list[Grid] = []
    budget, least = MOST_WORK, least_crossings(view)
    for choices in (starts, _moved_along(view, starts)):
        fresh = []
        for rank in choices:
            fresh.append(_placed(view, rank))
            budget = improve(fresh[-1], budget)
            if budget <= 0 or fresh[-1].crossings() <= least:
                return min(grids + fresh, key=Grid.cost)
        grids += fresh
        for grid in sorted(fresh, key=Grid.cost):
            budget = improve_with_wires(grid, budget)
            if budget <= 0 or grid.crossings() <= least:
                return min(grids, key=Grid.cost)
    return min(grids, key=Grid.cost)


def _moved_along(view: View, starts: Iterable[Mapping[str, int]]) -> Iterator[Mapping[str, int]]:
    """The same with one of the groups of nodes that edges join moved along, as far as the picture goes."""
    for rank in starts:
        for group in components(view):
            room = max(rank.values()) - max(rank[node] for node in group)
            for shift in range(1, room + 1):
                yield {node: place + shift * (node in group) for node, place in rank.items()}


def _placed(view: View, rank: Mapping[str, int]) -> Grid:
    """A grid with given ranks, in the order of the rule."""
    column = {name: 2 * place for name, place in rank.items()}
    wires = [
        Wire(link.key.producer, link.key.consumer, column[link.key.producer], column[link.key.consumer])
        for link in view.links
    ]
    grid = Grid(view, column, wires)
    _place_nodes(grid)
    _place_wires(grid)
    grid.drop_empty()
    return grid


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
