"""Moves that each lower the cost of an order, until none does.

Single items and whole tracks are moved, or nodes with their wires, which is dearer and finds more: a node whose
wires stay behind mostly makes more crossings than it removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from graph.draw.grid import Grid, Item

EACH_ITEM = 20
"""What trying a move costs, beside the pairs of wires that are compared, for each item of the picture, in pairs."""


def improve(grid: Grid, budget: int) -> int:
    """Move single items and whole tracks, trying at most for `budget` pairs of wires; what is left of that."""
    search = _Search(grid, budget)
    search.descend(moves)
    return max(search.budget, 0)


def improve_with_wires(grid: Grid, budget: int) -> int:
    """Move nodes with their wires too; what is left of the budget."""
    search = _Search(grid, budget)
    while search.descend(search.node_moves):
        search.descend(moves)
    return max(search.budget, 0)


def moves(grid: Grid) -> Iterator[None]:
    """Each move of an item or a track, made; whoever takes it from here keeps it or undoes it."""
    items: list[Item] = [*grid.view.nodes, *range(len(grid.wires))]
    for item in items:
        for track in list(grid.tracks):
            if (
                grid.band[track] in _allowed(grid, item)
                and grid.on[item] != track
                and track in grid.tracks
                and grid.free(track, item)
            ):
                grid.on[item] = track
                yield
        yield from _to_new_tracks(grid, item)
    for one, other in combinations(range(len(grid.tracks)), 2):
        if other < len(grid.tracks) and grid.band[grid.tracks[one]] == grid.band[grid.tracks[other]]:
            tracks = grid.tracks
            tracks[one], tracks[other] = tracks[other], tracks[one]
            yield


def _to_new_tracks(grid: Grid, item: Item) -> Iterator[None]:
    for band in _allowed(grid, item):
        for place in range(len(grid.tracks) + 1):
            if _borders(grid, place, band):
                grid.on[item] = grid.add_track(band, place)
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


class _Search:
    """A grid and what is left of the budget for trying moves on it."""

    def __init__(self, grid: Grid, budget: int) -> None:
        self.grid, self.budget = grid, budget
        self._each = grid.pairs() + EACH_ITEM * len(grid.on) + 1

    def descend(self, tried: Callable[[Grid], Iterator[None]]) -> bool:
        """Keep each move that lowers the cost, until none does or the budget ends; whether any did."""
        helped, better = False, True
        while better:
            better = self._pass(tried(self.grid))
            helped = helped or better
        return helped

    def _pass(self, tried: Iterator[None]) -> bool:
        best, before = self.grid.cost(), self.grid.state()
        better = False
        for _ in tried:
            if (cost := self._cost()) < best:
                best, better, before = cost, True, self.grid.state()
            else:
                self.grid.restore(before)
            if self.budget < 0:
                return False
        return better

    def _cost(self) -> float:
        self.budget -= self._each
        self.grid.drop_empty()
        return self.grid.cost()

    def node_moves(self, grid: Grid) -> Iterator[None]:
        """Each move of a node to a new track, made, its wires then put where they cost least."""
        for node in grid.view.nodes:
            own = [index for index, wire in enumerate(grid.wires) if node in (wire.producer, wire.consumer)]
            for _ in _to_new_tracks(grid, node):
                grid.drop_empty()
                for index in own:
                    self._settle(index)
                yield

    def _settle(self, index: int) -> None:
        """The wire goes to the cheapest track at one of its ends."""
        before = self.grid.state()
        best, found = self._cost(), before
        for _ in _at_ends(self.grid, index):
            if (cost := self._cost()) < best:
                best, found = cost, self.grid.state()
            self.grid.restore(before)
        self.grid.restore(found)


def _at_ends(grid: Grid, index: int) -> Iterator[None]:
    """The wire on the tracks of its ends, and on new ones beside those; one that leads back also outside of all."""
    wire = grid.wires[index]
    for node in (wire.producer, wire.consumer):
        track = grid.on[node]
        if grid.free(track, index):
            grid.on[index] = track
            yield
        for beside in (0, 1):
            grid.on[index] = grid.add_track(grid.band[track], grid.tracks.index(track) + beside)
            yield
    if not wire.forward:
        for place, outer in ((0, 0), (len(grid.tracks), -1)):
            grid.on[index] = grid.add_track(grid.band[grid.tracks[outer]], place)
            yield
