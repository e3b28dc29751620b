from __future__ import annotations

import pytest

from tests.graph.rules.build import codes, only, small


def test_the_nearest_name_is_offered() -> None:
    one = only(small("nodes.dispatch.reads=[imputs]"))
    assert (one.code, one.help, one.nodes) == ("LF003", "did you mean `inputs`?", ("dispatch",))
    assert one.message == "no buffer is called `imputs`"


def test_where_none_is_near_the_declared_ones_are_listed() -> None:
    assert only(small("nodes.dispatch.reads=[zzz]")).help == "declared: `inputs`"


@pytest.mark.parametrize(
    "override",
    [
        "buffers.inputs.type=Nothing",
        "nodes.prepare.acquires=[inputs, nothing]",
        "nodes.release.releases=[inputs, nothing]",
        "nodes.dispatch.reads=[inputs.nothing]",
        "nodes.dispatch.writes=[nothing@1]",
        "edges={'prepare -> nothing': {}}",
        "edges={'prepare -> dispatch': {carries: [inputs, nothing]}}",
        "edges={'prepare -> dispatch': {lends: [nothing]}}",
        "edges={'prepare -> dispatch': {value: Nothing}}",
        "edges={'prepare -> dispatch': {type: Nothing}}",
        "lanes.device=[dispatch, nothing]",
        "routes={r: [prepare, nothing]}",
        "costs={nothing: 1.0}",
    ],
)
def test_every_place_that_takes_a_name_is_checked_and_the_rest_is_left_undecided(override: str) -> None:
    assert codes(small(override)) == ["LF003"]


def test_each_place_is_told() -> None:
    assert codes(small("nodes.dispatch.reads=[imputs]", "nodes.dispatch.writes=[imputs]")) == [
        "LF003",
        "LF003",
    ]
