from __future__ import annotations

from graph.validate import diagnose
from tests.graph.rules.build import codes, only, small

LENT = [
    "edges={'prepare -> dispatch': {carries: null, lends: [inputs]}}",
    "edges={'prepare -> release': {carries: [inputs]}}",
]
TAP = ["nodes.tap={kind: reclaim, reads: [inputs]}", "lanes.output=[tap, release]"]


def told(*overrides: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.code, one.nodes) for one in diagnose(small(*overrides))]


def test_two_acquisitions_by_one_node_are_two() -> None:
    one = only(small("nodes.prepare.acquires=[inputs, inputs]"))
    assert (one.code, one.buffer) == ("LF201", "inputs")


def test_a_buffer_at_fault_in_two_routes_is_told_once() -> None:
    routes = "routes={a: [prepare, dispatch], b: [prepare, dispatch], c: [prepare, dispatch, release]}"
    one = only(small(routes))
    assert (one.code, one.route) == ("LF201", "a")


def test_a_buffer_used_across_steps_alone_needs_an_acquirer() -> None:
    assert codes(small("buffers.other={type: Inputs}", "nodes.dispatch.reads=[inputs, other@1]")) == ["LF201"]


def test_an_unused_buffer_is_no_fault_until_it_is_carried() -> None:
    other = "buffers.other={type: Inputs}"
    assert codes(small(other)) == []
    assert told(other, "edges={'prepare -> dispatch': {carries: [inputs, other]}}") == [
        ("LF202", ("prepare",))
    ]


def test_a_route_without_the_slot_may_pass_edges_that_carry_it() -> None:
    idle = "routes={full: [prepare, dispatch, release], idle: [dispatch]}"
    assert codes(small(idle, "nodes.dispatch.reads=[]")) == []
    assert codes(small(idle)) == ["LF201"]


def test_a_loan_may_be_lent_on_but_not_carried() -> None:
    on = "edges={'dispatch -> tap': {lends: [inputs]}, 'tap -> release': {}, 'dispatch -> release': null}"
    assert told(*LENT, *TAP, on) == []
    away = on.replace("'dispatch -> tap': {lends", "'dispatch -> tap': {carries")
    assert told(*LENT, *TAP, away) == [("LF202", ("dispatch",))]


def test_a_node_left_out_hands_on_what_it_is_given() -> None:
    assert codes(small("routes={full: [prepare, dispatch, release], short: [prepare, release]}")) == []


def test_ownership_goes_to_the_node_of_the_route_before_one_left_out() -> None:
    both = [
        "nodes.other={kind: dispatch, reads: [inputs]}",
        "lanes.device=[dispatch, other]",
        "edges={'prepare -> other': {carries: [inputs]}, 'other -> release': {carries: [inputs]}}",
    ]
    assert codes(small(*both, "routes={a: [prepare, dispatch, release], b: [prepare, other, release]}")) == []
    assert told(*both)[0] == ("LF203", ("prepare", "dispatch", "other"))


def test_a_slot_of_an_earlier_step_is_held_where_its_own_step_lends_it() -> None:
    read = "nodes.prepare.reads=['inputs@1']"
    lags = ["lanes.output=[release@1]", "buffers.inputs.slots=3", "edges={'prepare@1 -> release': null}"]
    lent = "edges={'prepare@1 -> prepare': {lends: [inputs]}}"
    assert ("LF202", ("prepare",)) in told(read, *lags)
    assert ("LF202", ("prepare",)) not in told(read, *lags, lent)
    assert ("LF202", ("prepare",)) in told(read, *lags, lent.replace("@1", "@2"))


def test_ownership_stays_within_its_step() -> None:
    assert ("LF203", ("dispatch",)) in told("edges={'dispatch@1 -> dispatch': {carries: [inputs]}}")


def test_a_fault_of_counting_does_not_hide_one_of_holding() -> None:
    found = told("nodes.release.releases=[]", "edges={'prepare -> dispatch': {carries: null}}")
    assert [code for code, _ in found] == ["LF201", "LF202"]
