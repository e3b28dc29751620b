from __future__ import annotations

import random
from fractions import Fraction

import networkx as nx

from graph.critical import critical_cycle
from graph.order import Arc, MarkedGraph


def random_graph(source: random.Random) -> tuple[MarkedGraph, dict[str, float]]:
    """Lanes of one node and random arcs with at least one token, so that every cycle has one."""
    names = [f"n{index}" for index in range(source.randint(1, 6))]
    arcs = [Arc(name, name, 1, "lane") for name in names]
    arcs += [
        Arc(source.choice(names), source.choice(names), source.randint(1, 3), "edge")
        for _ in range(source.randint(0, 10))
    ]
    graph = MarkedGraph(tuple(arcs), dict.fromkeys(names, 0), {name: name for name in names})
    return graph, {name: source.choice((0.0, 0.1, 1.5, 2.0, 7.3)) for name in names}


def longest_ratio(graph: MarkedGraph, times: dict[str, float]) -> Fraction:
    """By trying every cycle."""
    ratios: list[Fraction] = []
    for cycle in nx.simple_cycles(graph.digraph()):
        pairs = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
        tokens = sum(graph.digraph().edges[pair]["tokens"] for pair in pairs)
        ratios.append(sum((Fraction(times[node]) for node in cycle), Fraction(0)) / tokens)
    return max(ratios)


def test_period_is_the_largest_ratio_over_all_cycles() -> None:
    seed = 7
    print(f"seed {seed}")
    source = random.Random(seed)
    for _ in range(400):
        graph, times = random_graph(source)
        found = critical_cycle(graph, times)
        assert found.period == longest_ratio(graph, times)


def test_cycle_is_one_of_that_period_in_arc_order() -> None:
    source = random.Random(8)
    for _ in range(100):
        graph, times = random_graph(source)
        arcs = critical_cycle(graph, times).arcs
        assert all(one.target == two.source for one, two in zip(arcs, (*arcs[1:], arcs[0]), strict=True))
        assert sum(Fraction(times[arc.source]) for arc in arcs) / sum(
            arc.tokens for arc in arcs
        ) == longest_ratio(graph, times)


def test_a_full_lane_is_told_as_its_ring() -> None:
    arcs = (Arc("a", "b", 0, "lane"), Arc("b", "a", 1, "lane"), Arc("c", "c", 1, "lane"))
    graph = MarkedGraph(arcs, dict.fromkeys("abc", 0), {"a": "x", "b": "x", "c": "y"})
    found = critical_cycle(graph, {"a": 2.5, "b": 1.0, "c": 3.0})
    assert found.period == Fraction(7, 2)
    assert set(found.arcs) == set(arcs[:2])


def test_nodes_without_a_duration_take_no_time() -> None:
    graph = MarkedGraph((Arc("a", "a", 1, "lane"),), {"a": 0}, {"a": "x"})
    assert critical_cycle(graph, {}).period == 0
