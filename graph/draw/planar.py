"""Whether a view's wires must cross, in whatever columns and order its nodes are put."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import networkx as nx

from graph.draw.ranks import within_step
from graph.draw.view import View

ENTER, BACK, LEAVE = range(3)
MOST_UNDECIDED = 6
"""Of so many edges that may lead either way both are tried, each with both of all others."""


def least_crossings(view: View) -> int:
    """A lower bound of the crossings in a picture: 1 where none without is possible, else 0.

    Wires enter a node at its left and leave it at its right; those that lead back turn there at once, above or
    below all others. So from a picture without crossings follows one in the plane of the graph that has for
    each node three in a row: one for the wires that enter, one for those that lead back, one for those that leave.
    """
    graph = within_step(view)
    sure: list[tuple[str, str, bool]] = []
    undecided: list[tuple[str, str]] = []
    for producer, back, consumer in (link.key for link in view.links):
        leads_back = nx.has_path(graph, consumer, producer)
        if leads_back or not back:
            sure.append((producer, consumer, leads_back))
        else:
            undecided.append((producer, consumer))
    if len(undecided) > MOST_UNDECIDED:
        return 0
    for ways in product((True, False), repeat=len(undecided)):
        either = ((*ends, way) for ends, way in zip(undecided, ways, strict=True))
        if _planar(view.nodes, [*sure, *either]):
            return 0
    return 1


def _planar(nodes: Iterable[str], wires: Iterable[tuple[str, str, bool]]) -> bool:
    """Whether the graph of nodes in three parts is planar; wires are (producer, consumer, whether it leads back)."""
    graph: nx.Graph[tuple[str, int]] = nx.Graph()
    for node in nodes:
        nx.add_path(graph, [(node, ENTER), (node, BACK), (node, LEAVE)])
    for producer, consumer, leads_back in wires:
        ends = (BACK, BACK) if leads_back else (LEAVE, ENTER)
        graph.add_edge((producer, ends[0]), (consumer, ends[1]))
    return bool(nx.check_planarity(graph)[0])
