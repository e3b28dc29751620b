from __future__ import annotations

from graph.validate import diagnose
from tests.graph.rules.build import codes, only, small

COSTS = "costs={prepare: 4.0, dispatch: 5.0, release: 4.0}"


def test_slots_that_hold_the_period_up_are_told_with_the_count_that_would_do() -> None:
    one = only(small(COSTS))
    assert (one.code, one.severity, one.buffer) == ("LF601", "advice", "inputs")
    assert one.message == (
        "2 slots of `inputs` hold the period at 6.5 ms; 3 slots would reach the 5 ms that the lanes allow"
    )


def test_the_count_that_is_told_does_it() -> None:
    assert codes(small(COSTS, "buffers.inputs.slots=3")) == []


def test_slots_that_also_keep_uses_apart_are_not_just_added() -> None:
    shared = "buffers.scratch={type: Inputs, persistent: true, place: pinned}"
    uses = ["nodes.prepare.writes=[inputs, scratch]", "nodes.dispatch.reads=[inputs, scratch]"]
    one = only(small(COSTS, shared, *uses, "buffers.inputs.slots=1"))
    assert one.help == "order what the slots keep apart, then give `inputs` 3 slots"


def test_without_costs_there_is_no_advice_on_slots() -> None:
    assert codes(small("buffers.inputs.slots=1")) == []


def test_a_stream_that_copies_from_plain_host_memory_is_told() -> None:
    one = only(small("lanes.device.worker=stream", "buffers.inputs.place=host"))
    assert (one.code, one.severity, one.nodes, one.buffer) == ("LF602", "advice", ("dispatch",), "inputs")
    assert codes(small("lanes.device.worker=stream")) == []


def test_a_faulty_topology_gets_no_advice() -> None:
    assert "LF601" not in {one.code for one in diagnose(small(COSTS, "nodes.dispatch.emits=results"))}
