from __future__ import annotations

import math

from graph.order import Arc, entry_nodes, marked_graph
from graph.topology import Topology


def topology(lanes: dict[str, list[str]], edges: tuple[str, ...] = (), **more: object) -> Topology:
    names = dict.fromkeys(entry.split("@")[0] for entries in lanes.values() for entry in entries)
    return Topology.model_validate(
        {
            "nodes": {name: {"kind": "bind"} for name in names},
            "edges": {edge: {} for edge in edges},
            "lanes": {lane: {"nodes": entries} for lane, entries in lanes.items()},
            **more,
        }
    )


def test_a_lane_is_a_ring_with_one_token() -> None:
    graph = marked_graph(topology({"x": ["a", "b"]}))
    assert (graph.distance("a", "b"), graph.distance("b", "a")) == (0, 1)
    assert graph.before("a", "b")
    assert graph.before("b", "a", 1)
    assert not graph.before("b", "a")


def test_a_lag_moves_tokens_from_edges_to_turns() -> None:
    graph = marked_graph(topology({"x": ["a"], "y": ["b@2"]}, ("a -> b",)))
    assert graph.distance("a", "b") == 2
    assert graph.before("a", "b")
    assert not graph.before("a", "b", -1)


def test_lanes_without_a_wait_are_not_ordered_at_any_distance() -> None:
    graph = marked_graph(topology({"x": ["a"], "y": ["b"]}))
    assert graph.distance("a", "b") == math.inf
    assert not graph.before("a", "b", 1000)


def test_of_parallel_waits_the_tightest_counts() -> None:
    graph = marked_graph(topology({"x": ["a"], "y": ["b"]}, ("a@2 -> b", "a@1 -> b")))
    assert graph.distance("a", "b") == 1


def test_the_limit_makes_entries_wait_for_every_node() -> None:
    graph = marked_graph(topology({"x": ["a"], "y": ["b"]}, ("a -> b",), in_flight=3))
    limits = {arc for arc in graph.arcs if arc.reason == "in_flight"}
    assert limits == {Arc("a", "a", 3, "in_flight"), Arc("b", "a", 3, "in_flight")}


def test_a_node_fed_by_earlier_steps_alone_is_an_entry() -> None:
    assert entry_nodes(topology({"x": ["a", "b"]}, ("a -> b", "b@1 -> a"))) == ("a",)


def test_a_node_without_a_turn_of_its_own_is_left_out_with_its_arcs() -> None:
    graph = marked_graph(topology({"x": ["a", "b"], "y": ["b", "c"]}, ("a -> b", "b -> c", "a -> c")))
    assert dict(graph.lane) == {"a": "x", "c": "y"}
    assert [(arc.source, arc.target) for arc in graph.arcs if arc.reason == "edge"] == [("a", "c")]
