from __future__ import annotations

from tests.graph.rules.build import codes, small


def test_without_an_order_only_reads_that_nobody_writes_are_told() -> None:
    late = ["nodes.late={kind: bind, writes: [inputs.tokens]}", "nodes.prepare.writes=[inputs.generation]"]
    into = "edges={'dispatch -> late': {carries: [inputs]}, 'dispatch -> release': null}"
    on = "edges={'late -> release': {carries: [inputs]}}"
    assert codes(small(*late, into, on, "lanes.output=[late, release]")) == ["LF208"]
    assert codes(small(*late, into, on, "lanes.output=[release]")) == ["LF101"]
    assert codes(small("nodes.prepare.writes=[inputs.generation]", "lanes.output=[]")) == ["LF101", "LF208"]


def test_what_a_node_writes_itself_it_cannot_read_before() -> None:
    assert codes(small("nodes.prepare.reads=[inputs.tokens]")) == ["LF208"]
