from __future__ import annotations

import pytest

from graph.order import marked_graph
from graph.rules.state import clash_distance
from tests.graph.rules.build import codes, made, only, small

TABLE = "buffers.table={type: Inputs, persistent: true, place: pinned}"


def test_two_that_share_no_route_do_not_clash_within_a_step_and_do_across_steps() -> None:
    parts = {
        "types": {"T": {"x": "int64[1]"}},
        "buffers": {"table": {"type": "T", "persistent": True}},
        "nodes": {"a": {"kind": "bind", "writes": ["table"]}, "b": {"kind": "bind", "writes": ["table"]}},
        "edges": {"a@1 -> b": {}, "b@1 -> a": {}},
        "lanes": {"x": {"nodes": ["a"]}, "y": {"nodes": ["b"]}},
    }
    apart = {"one": ["a"], "two": ["b"]}
    assert codes(made(**parts)) == ["LF207"]
    assert codes(made(**parts, routes=apart)) == []
    assert codes(made(**{**parts, "edges": {"a@1 -> b": {}}}, routes=apart)) == ["LF207"]


@pytest.mark.parametrize(
    ("edges", "same_step", "distance"),
    [
        ((), True, 0),
        ((), False, 1),
        (("a -> b",), True, -1),
        (("b -> a",), True, 1),
        (("a@1 -> b",), True, 0),
        (("a@1 -> b", "b@1 -> a"), False, None),
        (("a -> b", "b@1 -> a"), True, None),
        (("a -> b", "b@3 -> a"), True, -1),
        (("a@3 -> b", "b@1 -> a"), False, 1),
    ],
)
def test_the_nearest_distance_at_which_two_can_meet(
    edges: tuple[str, ...], same_step: bool, distance: int | None
) -> None:
    graph = marked_graph(
        made(
            nodes={"a": {"kind": "bind"}, "b": {"kind": "bind"}},
            edges={edge: {} for edge in edges},
            lanes={"x": {"nodes": ["a"]}, "y": {"nodes": ["b"]}},
        )
    )
    assert clash_distance(graph, "a", "b", same_step) == distance


def test_a_race_is_told_at_its_distance() -> None:
    one = only(small(TABLE, "nodes.prepare.writes=[inputs, table]", "nodes.dispatch.reads=[inputs, table]"))
    assert one.message == "`prepare` of step 1 writes `table` while `dispatch` of step 0 reads it"


def test_the_generation_may_come_on_a_typed_edge() -> None:
    keyed = "buffers.state={type: Inputs, persistent: true, keyed_by: request, place: device}"
    update = [keyed, "nodes.dispatch.reads=[inputs.tokens]", "nodes.dispatch.writes=[state]"]
    assert codes(small(*update)) == ["LF209"]
    assert codes(small(*update, "edges={'prepare -> dispatch': {value: Inputs}}")) == []
    assert codes(small(*update, "edges={'prepare -> dispatch': {type: Inputs}}")) == []
