from __future__ import annotations

from graph.diagnostics import Diagnostic
from graph.validate import diagnose
from tests.graph.rules.build import codes, only, small

TAP = [
    "nodes.tap={kind: reclaim, reads: [inputs.tokens]}",
    "lanes.tap=[tap]",
    "edges={'dispatch -> tap': {lends: [inputs]}}",
]


def first(code: str, *overrides: str) -> Diagnostic:
    return next(one for one in diagnose(small(*overrides)) if one.code == code)


def test_a_late_user_is_told_with_slot_and_steps() -> None:
    one = only(small(*TAP))
    assert one.message == "`tap` of step 0 still reads `inputs` slot 0 when `prepare` of step 2 takes it"
    assert (one.code, one.nodes, one.buffer) == ("LF205", ("tap", "release"), "inputs")


def test_a_clash_names_what_should_have_come_first() -> None:
    clash = only(small(*TAP)).clash
    assert clash is not None
    assert (clash.first.node, clash.second.node, clash.tenure, clash.slot) == ("tap", "release", 0, 0)


def test_a_user_of_an_earlier_slot_is_late_by_that_many_steps() -> None:
    one = first(
        "LF205",
        "nodes.dispatch.reads=[inputs, 'inputs.tokens@2']",
        "edges={'prepare@2 -> dispatch': {lends: [inputs]}}",
    )
    assert one.message == "`dispatch` of step 2 still reads `inputs` slot 0 when `prepare` of step 2 takes it"


def test_a_user_with_two_offsets_is_told_once() -> None:
    reads = "nodes.dispatch.reads=[inputs, 'inputs@1', 'inputs@2']"
    assert codes(small(reads)).count("LF205") == 1


def test_uses_of_other_fields_do_not_clash() -> None:
    writing = "nodes.tap={kind: reclaim, writes: [inputs.generation]}"
    guard = "edges={'tap -> release': {}, 'prepare -> tap': {lends: [inputs]}, 'dispatch -> tap': null}"
    assert codes(small(*TAP, writing, guard)) == ["LF206"]
    assert codes(small(*TAP, writing, guard, "nodes.dispatch.reads=[inputs.tokens]")) == []
