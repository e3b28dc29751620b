from __future__ import annotations

from graph.diagnostics import Diagnostic
from graph.validate import diagnose
from tests.graph.rules.build import codes, only, small


def first(code: str, *overrides: str) -> Diagnostic:
    return next(one for one in diagnose(small(*overrides)) if one.code == code)


def test_a_deadlock_is_told_with_its_cycle_first() -> None:
    one = only(small("lanes={host: [prepare, release@1], output: null}", "buffers.inputs.slots=1"))
    assert (one.code, one.nodes, one.buffer) == ("LF301", ("prepare", "release"), "inputs")
    assert "`prepare` waits for `release` (1 slot of `inputs`)" in one.message


def test_a_wait_for_a_later_turn_names_slot_or_edge() -> None:
    slot = only(small("lanes={host: [prepare, release@2], output: null}", "buffers.inputs.slots=1"))
    assert (slot.code, slot.nodes, slot.buffer) == ("LF302", ("prepare", "release"), "inputs")
    edge = only(small("lanes.device=[dispatch@1]"))
    assert (edge.code, edge.nodes, edge.buffer) == ("LF302", ("release", "dispatch"), None)


def test_a_limit_beyond_the_slots_is_a_warning_that_says_what_is_reached() -> None:
    one = only(small("in_flight=4"))
    assert (one.code, one.severity) == ("LF303", "warning")
    assert "let 2 steps be in flight" in one.message
    assert codes(small("in_flight=2")) == []


def test_one_step_is_always_in_flight() -> None:
    alone = small("nodes={dispatch: null, release: null}", "edges=null", "lanes={device: null, output: null}")
    assert codes(alone) == ["LF201"]
    one = next(one for one in diagnose(alone.model_copy(update={"in_flight": 3})) if one.code == "LF303")
    assert "let 1 step be in flight" in one.message
    assert "LF303" not in codes(alone.model_copy(update={"in_flight": 1}))
