from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from graph import Topology, useful_slots
from graph.critical import longer_cycle
from graph.order import marked_graph
from graph.useful_slots import best_period, with_slots
from graph.validate import faults
from tests.graph.random_topologies import sound


def enough(topology: Topology, counts: dict[str, int], times: dict[str, Fraction], period: Fraction) -> bool:
    """By the rules of the validator and by the graph, without the search."""
    given = with_slots(topology, counts)
    if any(fault.code in ("LF301", "LF302") for fault in faults(given)):
        return False
    return longer_cycle(marked_graph(given), times, period) is None


def fewest_by_trial(topology: Topology, times: dict[str, Fraction], names: list[str], most: int) -> int:
    graph = marked_graph(topology)
    period = best_period(graph, times)
    return min(
        sum(counts)
        for counts in itertools.product(range(1, most + 1), repeat=len(names))
        if enough(topology, dict(zip(names, counts, strict=True)), times, period)
    )


def search(topology: Topology, times: dict[str, Fraction], **more: Any) -> useful_slots.UsefulSlots:
    graph = marked_graph(topology)
    return useful_slots.useful_slots(topology, graph, times, best_period(graph, times), **more)


def crossing(slots: int) -> Topology:
    """Two buffers on one cycle, longer than what either holds up alone: a's work is due before b is given back."""
    edges = {f"take_{x} -> work_{x}": {"carries": [x]} for x in "ab"}
    edges |= {f"work_{x} -> give_{x}": {"carries": [x]} for x in "ab"}
    edges |= {"work_a -> then_a": {}, "then_a -> give_b": {}, "work_b -> then_b": {}, "then_b -> give_a": {}}
    nodes: dict[str, dict[str, Any]] = {}
    for x in "ab":
        nodes[f"take_{x}"] = {"kind": "prepare", "acquires": [x], "writes": [x]}
        nodes[f"work_{x}"] = {"kind": "dispatch", "reads": [x]}
        nodes[f"then_{x}"] = {"kind": "bind"}
        nodes[f"give_{x}"] = {"kind": "release", "releases": [x]}
    return Topology.model_validate(
        {
            "topology": "crossing",
            "types": {"T": {"x": "int64[1]"}},
            "buffers": {name: {"type": "T", "slots": slots} for name in "ab"},
            "nodes": nodes,
            "edges": edges,
            "lanes": {f"lane_{name}": {"nodes": [name]} for name in nodes},
        }
    )


def crossings(source: random.Random, count: int) -> Iterator[tuple[Topology, dict[str, Fraction]]]:
    for _ in range(count):
        topology = crossing(4)
        yield topology, {node: Fraction(source.choice((0, 1, 2, 3))) for node in topology.nodes}


def test_no_smaller_total_reaches_the_period() -> None:
    seed = 21
    print(f"seed {seed}")
    source = random.Random(seed)
    random_ones = (
        (one, {node: Fraction(source.choice((0, 1, 2, 5))) for node in one.nodes}) for one in sound(seed, 200)
    )
    joint = 0
    for topology, times in itertools.chain(random_ones, crossings(source, 40)):
        found = search(topology, times)
        assert found.fewest
        names = list(found.counts)
        if names and (most := max(found.counts.values())) <= 8:
            assert sum(found.counts.values()) == fewest_by_trial(topology, times, names, most + 2)
            joint += len(names) > 1
    assert joint > 40


def test_buffers_that_share_a_cycle_are_counted_together() -> None:
    topology = crossing(4)
    times = {node: Fraction(1) for node in topology.nodes}
    found = search(topology, times)
    assert sum(found.counts.values()) == 8, "the cycle through both has eight nodes, one for each token"
    alone = {name: search(topology, times, floor={other: 50}).counts[name] for name, other in ("ab", "ba")}
    assert alone == {"a": 3, "b": 3}


def test_no_buffer_gets_fewer_than_the_floor() -> None:
    topology = crossing(8)
    times = {node: Fraction(1) for node in topology.nodes}
    assert search(topology, times, floor={"a": 7, "b": 1}).counts == {"a": 7, "b": 3}


def test_a_search_cut_short_still_finds_slots_that_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(useful_slots, "MOST_COUNTS", 1)
    cut = 0
    for topology, times in crossings(random.Random(22), 40):
        found = search(topology, times)
        assert enough(topology, dict(found.counts), times, best_period(marked_graph(topology), times))
        cut += not found.fewest
    assert cut > 0


def test_without_durations_every_buffer_needs_what_keeps_it_from_deadlock() -> None:
    for topology in sound(23, 50):
        times = dict.fromkeys(topology.nodes, Fraction(0))
        found = search(topology, times)
        assert enough(topology, dict(found.counts), times, Fraction(0))
