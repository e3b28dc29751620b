"""Spans of a stream lane are the device's: its own time, and no gap where a call was launched ahead."""

from __future__ import annotations

from itertools import pairwise

import pytest

from graph import Runtime, Topology, compile, load
from graph.report import report
from nodes.misbehaving import FailsAtCompletion, Fault, Never, misbehaving
from nodes.simulated import simulated
from tests.fakes import HANG_S

pytestmark = pytest.mark.usefixtures("nothing_left")

MS = 1_000_000


def pingpong(*overrides: str) -> Topology:
    costs = ("costs.prepare=0", "costs.reclaim=0", "costs.dispatch=20")
    return load("pingpong", ["lanes.device.worker=stream", *costs, *overrides])


def test_spans_have_the_queues_own_time_and_do_not_overlap() -> None:
    source = pingpong("costs.dispatch=2")
    with Runtime(compile(source), simulated(source)) as run:
        assert list(run.map(range(20))) == list(range(20))
    spans = [span for span in run.spans() if span.node == "dispatch"]
    assert [span.step for span in spans] == list(range(20))
    assert all(span.device == span.end - span.start for span in spans)
    assert all(span.ready <= span.start for span in spans)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    assert {span.device for span in spans} == {2 * MS}


def test_a_saturated_device_has_no_gap() -> None:
    source = pingpong()
    with Runtime(compile(source), simulated(source)) as run:
        list(run.map(range(12)))
    gap = report(run.trace()).gap_true
    assert gap is not None
    assert gap.median == 0


def test_a_failed_call_has_a_span_with_its_error() -> None:
    source = pingpong("costs.dispatch=0")
    with Runtime(
        compile(source), simulated(source), make_queue=misbehaving({1: FailsAtCompletion(ValueError("oh"))})
    ) as run:
        tickets = [run.submit(index) for index in range(3)]
        assert [ticket.exception(timeout=HANG_S) is None for ticket in tickets] == [True, False, True]
    told = [span.error for span in run.spans() if span.node == "dispatch"]
    assert (told[0], told[2]) == (None, None)
    assert "step 1 failed in `dispatch`" in str(told[1])
    assert "oh" in str(told[1])


@pytest.mark.parametrize("fault", [FailsAtCompletion(), Never()], ids=["fails", "never"])
def test_a_call_that_fails_does_not_overlap_the_one_before(fault: Fault) -> None:
    """Its span used to begin with its launch, and made the lane busy for longer than the run took."""
    source = pingpong("costs.dispatch=5")
    faults = dict.fromkeys(range(1, 20, 2), fault)
    with Runtime(
        compile(source), simulated(source), make_queue=misbehaving(faults), completion_timeout=0.02
    ) as run:
        tickets = [run.submit(index) for index in range(20)]
        failed = [index for index, ticket in enumerate(tickets) if ticket.exception(timeout=HANG_S)]
    assert failed == list(range(1, 20, 2))
    spans = [span for span in run.spans() if span.node == "dispatch"]
    assert all(one.end <= other.start for one, other in pairwise(spans))
    if isinstance(fault, FailsAtCompletion):  # then the queue knows when it was at it
        assert {span.device for span in spans} >= {5 * MS}
        assert all(span.end - span.start >= 5 * MS for span in spans)


def test_a_run_without_a_record_keeps_no_spans() -> None:
    source = pingpong("costs.dispatch=0")
    with Runtime(compile(source), simulated(source), record=False) as run:
        list(run.map(range(5)))
    assert run.spans() == []
