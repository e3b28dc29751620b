from __future__ import annotations

from pathlib import Path

import pytest

from graph import TopologyError, load
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


@pytest.mark.parametrize("override", ["dims.bacht=16", "dims={bacht: 16}", "dims.bacht="])
def test_an_override_of_an_unknown_dimension_is_told_with_the_nearest(override: str) -> None:
    with pytest.raises(TopologyError) as caught:
        load("pingpong", [override])
    (one,) = caught.value.diagnostics
    assert (one.code, one.help) == ("LF003", "did you mean `batch`?")
    assert one.message == "no dimension is called `bacht`"
    assert one.location.file == f"override `{override}`"


def test_an_override_may_size_a_dimension_that_is_declared_or_used(tmp_path: Path) -> None:
    file = tmp_path / "sized.yaml"
    file.write_text(
        "dims: {idle: 1}\n"
        "types: {T: {x: 'int64[used]'}}\n"
        "buffers: {state: {type: T, slots: 1, persistent: true}}\n"
        "nodes: {work: {kind: bind, writes: [state]}}\n"
        "lanes: {only: [work]}\n"
    )
    assert load(file, ["dims.idle=2", "dims.used=3"]).dims == {"idle": 2, "used": 3}
