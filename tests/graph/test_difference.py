from __future__ import annotations

from graph import load
from graph.difference import changes
from graph.topology import Topology
from tests.graph.rules.build import small


def told(first: Topology, second: Topology) -> list[tuple[str, object, object]]:
    return [(one.name, one.first, one.second) for one in changes(first, second)]


def test_a_topology_does_not_differ_from_itself() -> None:
    assert told(load("pingpong"), load("pingpong")) == []


def test_names_and_summaries_are_no_difference() -> None:
    assert told(small(), small("summary=other", "topology=other")) == []


def test_a_default_that_is_written_out_is_no_difference() -> None:
    assert told(small(), small("lanes.host.worker=thread", "buffers.inputs.persistent=false")) == []


def test_a_value_is_compared_as_deep_as_it_lies() -> None:
    assert told(small(), small("buffers.inputs.slots=3")) == [("buffers.inputs.slots", 2, 3)]
    assert told(small(), small("costs.dispatch=4.5")) == [("costs.dispatch", None, 4.5)]
    assert told(small("in_flight=2"), small()) == [("in_flight", 2, None)]


def test_a_thing_that_only_one_has_is_one_difference() -> None:
    found = told(small(), small("buffers.extra={type: Inputs, persistent: true}"))
    assert found == [("buffers.extra", None, {"type": "Inputs", "slots": 1, "persistent": True})]


def test_edges_types_and_entries_read_as_in_the_file() -> None:
    edge, lane, field = (
        "edges.release@1 -> prepare={}",
        "lanes.output=[release@1]",
        "types.Inputs.tokens='int64[8]'",
    )
    assert told(small(), small(edge)) == [("edges.release@1 -> prepare", None, {})]
    assert told(small(), small(lane)) == [("lanes.output.nodes", ["release"], ["release@1"])]
    assert told(small(), small(field)) == [("types.Inputs.tokens", "int64[4]", "int64[8]")]


def test_the_other_way_round_it_is_the_same_with_the_sides_changed() -> None:
    there = told(load("pingpong"), load("latebind"))
    back = told(load("latebind"), load("pingpong"))
    assert sorted(name for name, *_ in there) == sorted(name for name, *_ in back)
    assert {(name, second, first) for name, first, second in map(str_sides, there)} == set(
        map(str_sides, back)
    )


def str_sides(one: tuple[str, object, object]) -> tuple[str, str, str]:
    return one[0], str(one[1]), str(one[2])
