"""Cycles of a small directed graph, each strongly connected part told once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import networkx as nx


def components(graph: nx.DiGraph[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each strongly connected part with a cycle: a shortest one in arc order, and the part's other nodes.

    Deterministic: nodes count in the order in which they were added to the graph.
    """
    order = {node: index for index, node in enumerate(graph)}
    parts = [sorted(part, key=order.__getitem__) for part in nx.strongly_connected_components(graph)]
    for part in sorted(parts, key=lambda part: order[part[0]]):
        inside = set(part)
        ways = [way for node in part if (way := _shortest(graph, node, inside))]
        if ways:
            cycle = min(ways, key=len)
            yield cycle, tuple(node for node in part if node not in cycle)


def _shortest(graph: nx.DiGraph[str], start: str, inside: set[str]) -> tuple[str, ...]:
    """A shortest cycle through `start`, which comes first; empty where there is none."""
    back: dict[str, str] = {}
    queue = deque((start,))
    while queue:
        node = queue.popleft()
        for far in graph.successors(node):
            if far == start:
                way = [node]
                while way[-1] != start:
                    way.append(back[way[-1]])
                return tuple(reversed(way))
            if far in inside and far not in back:
                back[far] = node
                queue.append(far)
    return ()
