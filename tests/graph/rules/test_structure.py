from __future__ import annotations

import pytest

from graph.validate import diagnose
from tests.graph.rules.build import codes, made, only, small

STATE = "buffers.state={type: Inputs, persistent: true, place: device}"


def test_a_cycle_of_edges_within_a_step_is_told_alone() -> None:
    one = only(small("edges={'release -> prepare': {}}", "lanes.host=[prepare@1]"))
    assert (one.code, one.nodes) == ("LF102", ("prepare", "dispatch", "release"))


def test_a_node_that_waits_for_itself_is_a_cycle() -> None:
    assert only(small("edges={'dispatch -> dispatch': {}}")).nodes == ("dispatch",)


def test_turns_are_compared_between_nodes_that_have_one_even_where_another_has_none() -> None:
    found = diagnose(small("lanes.output=[]", "lanes.host=[prepare@1]"))
    assert {(one.code, one.nodes) for one in found} == {
        ("LF302", ("dispatch", "prepare")),
        ("LF101", ("release",)),
    }


def test_two_entries_on_one_lane_are_two_entries() -> None:
    assert codes(small("lanes.device=[dispatch, dispatch@1]")) == ["LF101"]


@pytest.mark.parametrize(
    ("overrides", "node"),
    [
        (["nodes.release.acquires=[other]"], "release"),
        (["nodes.dispatch.releases=[other]"], "dispatch"),
        ([STATE, "nodes.prepare.writes=[inputs, state]"], "prepare"),
        ([STATE, "nodes.release.writes=[state]"], "release"),
        (["nodes.dispatch.emits=results"], "dispatch"),
    ],
)
def test_a_kind_does_only_what_it_may(overrides: list[str], node: str) -> None:
    found = diagnose(small("buffers.other={type: Inputs}", *overrides))
    assert ("LF103", (node,)) in [(one.code, one.nodes) for one in found]


def test_release_may_retire_request_rows_on_the_device() -> None:
    keyed = "buffers.state={type: Inputs, persistent: true, keyed_by: request, place: device}"
    assert (
        codes(small(keyed, "nodes.release.writes=[state]", "nodes.release.reads=[inputs.generation]")) == []
    )


def test_a_typed_edge_is_checked_buffer_by_buffer() -> None:
    types = "types.Other={tokens: 'int64[4]'}"
    one = only(small(types, "edges={'prepare -> dispatch': {type: Other}}"))
    assert (one.code, one.buffer, one.nodes) == ("LF104", "inputs", ("prepare", "dispatch"))


def test_a_node_in_no_route_is_a_warning_once_nothing_worse_is_left() -> None:
    idle = [
        "nodes.count={kind: reclaim}",
        "lanes.output=[release, count]",
        "routes={r: [prepare, dispatch, release]}",
    ]
    one = only(small(*idle))
    assert (one.code, one.severity, one.nodes) == ("LF105", "warning", ("count",))
    assert codes(small(*idle, "nodes.dispatch.emits=results")) == ["LF103"]


def test_an_abstract_topology_is_checked_for_its_words_alone() -> None:
    assert codes(small("abstract=true", "lanes={}", "edges={'release -> prepare': {}}")) == []
    assert codes(small("abstract=true", "nodes.dispatch.reads=[imputs]")) == ["LF003"]


def test_an_empty_topology_is_sound() -> None:
    assert codes(made(nodes={}, lanes={})) == []
