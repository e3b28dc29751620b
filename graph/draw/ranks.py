"""How far along its step each node is: the columns of a picture.

Every edge within a step leads to a higher rank, but for edges that close a cycle (LF102).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import networkx as nx

from graph.draw.view import View


def ranks(view: View) -> dict[str, int]:
    """For each node the most edges on a way to it, sources moved up to their first consumer."""
    graph = within_step(view)
    order = list(nx.lexicographical_topological_sort(graph, key=list(view.nodes).index))
    rank: dict[str, int] = {}
    for node in order:
        rank[node] = max((rank[before] + 1 for before in graph.predecessors(node)), default=0)
    for node in reversed(order):
        after = [rank[one] for one in graph.successors(node)]
        if after and not graph.in_degree(node):
            rank[node] = min(after) - 1
    return rank


def late(view: View, rank: Mapping[str, int]) -> dict[str, int]:
    """The same with each node moved up to its first consumer, sinks staying where they are."""
    graph = within_step(view)
    found = dict(rank)
    for node in reversed(list(nx.topological_sort(graph))):
        found[node] = min((found[one] - 1 for one in graph.successors(node)), default=rank[node])
    return found


def components(view: View) -> list[list[str]]:
    """The nodes in groups that edges of one step join, in the order of the routes and of the file."""
    graph = within_step(view).to_undirected(as_view=True)
    order = {name: place for place, name in enumerate(_reading_order(view))}
    groups = [sorted(group, key=order.__getitem__) for group in nx.connected_components(graph)]
    return sorted(groups, key=lambda group: order[group[0]])


def _reading_order(view: View) -> Iterable[str]:
    in_routes = (node for members in view.topology.steps_routes().values() for node in members)
    return dict.fromkeys(node for node in (*in_routes, *view.nodes) if node in view.nodes)


def within_step(view: View) -> nx.DiGraph[str]:
    """The edges of one step; those that would close a cycle are left out."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(view.nodes)
    for link in view.links:
        producer, back, consumer = link.key
        if back == 0 and not nx.has_path(graph, consumer, producer):
            graph.add_edge(producer, consumer)
    return graph


def last_rank(rank: Mapping[str, int]) -> int:
    """The highest rank; -1 of no nodes."""
    return max(rank.values(), default=-1)
