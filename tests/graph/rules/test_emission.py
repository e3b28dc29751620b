from __future__ import annotations

from tests.graph.rules.build import codes, only, small


def test_two_emitters_on_lanes_of_their_own_may_overtake() -> None:
    emit = "nodes.{0}={{kind: reclaim, emits: results}}"
    one = only(small(emit.format("a"), emit.format("b"), "lanes.a=[a]", "lanes.b=[b]"))
    assert (one.code, set(one.nodes), one.buffer) == ("LF401", {"a", "b"}, None)
    assert codes(small(emit.format("a"), emit.format("b"), "lanes.a=[a, b]")) == []
