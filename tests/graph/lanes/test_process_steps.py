"""What a step carries from process to process: values, slots of earlier steps, commands, results, errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest
import torch

from graph import RemoteError, RuntimeStopped, StepError, Unfinished
from graph.makers import ResourceCounts
from tests.fakes import HANG_S, chain, topology
from tests.graph.lanes.acting import (
    Failure,
    awkward,
    back,
    cross,
    flow,
    grip,
    look_back,
    nothing,
    release_tells,
    slow_first,
)
from tests.graph.lanes.driving import children, running
from tests.graph.test_runtime_bubbles import lagging
from tests.graph.test_runtime_failures import LOOKING_BACK
from tests.graph.test_values import FLOW

pytestmark = pytest.mark.usefixtures("nothing_left")

ONE_BY_ONE = chain(["make"], ["use"])
"""Two lanes, `lane0` and `lane1`."""


# -- values --------------------------------------------------------------------------------------------------


def seen(lanes: Iterable[str], routes: list[str], fail: Mapping[int, str]) -> list[Any]:
    with running(FLOW, lanes, flow, fail, checked=True) as run:
        tickets = [run.submit(index, route=route) for index, route in enumerate(routes)]
        return [ticket.exception(timeout=HANG_S) or ticket.result() for ticket in tickets]


@pytest.mark.parametrize(
    "lanes",
    [
        ("one",),
        ("two",),
        pytest.param(("one", "two"), marks=pytest.mark.slow),
        pytest.param(("one", "two", "three"), marks=pytest.mark.slow),
    ],
)
def test_values_arrive_in_their_own_step_and_are_absent_where_nothing_was_put(lanes: tuple[str, ...]) -> None:
    found = seen(lanes, ["full", "without", "none", "full", "full", "full"], {4: "make"})
    assert found[0] == ("use", ["tokens of", 0])
    assert found[1] == ("use", None)
    assert found[2] is None
    assert found[3] == ("use", ["tokens of", 3])
    assert (found[4].node, found[4].step) == ("make", 4)
    assert found[5] == ("use", ["tokens of", 5])
    assert children() == []


BACK = topology(
    types={"Note": "value"},
    nodes={"late": {"kind": "bind"}, "use": {"kind": "reclaim", "emits": "results"}},
    edges={"use@1 -> late": {"value": "Note"}, "late -> use": {"value": "Note"}},
    lanes={"one": ["late"], "two": ["use"]},
)


@pytest.mark.parametrize("lane", ["one", pytest.param("two", marks=pytest.mark.slow)])
def test_a_value_of_the_step_before_arrives_one_step_later_unless_that_step_failed(lane: str) -> None:
    with running(BACK, [lane], back) as run:
        found = [run.submit(index) for index in range(5)]
        outcomes = [ticket.exception(timeout=HANG_S) or ticket.result() for ticket in found]
    assert outcomes[:2] == [("before", None), ("before", 0)]
    assert isinstance(outcomes[2], StepError)
    assert outcomes[3:] == [("before", None), ("before", 3)]


# -- slots ---------------------------------------------------------------------------------------------------


def test_at_n_is_absent_as_between_threads(tmp_path: Path) -> None:
    """Of the first step, of a failed one, and of one that took another route."""
    log = tmp_path / "log"
    with running(LOOKING_BACK, ["host"], look_back, str(log), checked=True) as run:
        tickets = [
            run.submit(i, route=route) for i, route in enumerate(["full"] * 4 + ["none"] + ["full"] * 3)
        ]
        for ticket in tickets:
            ticket.exception(timeout=HANG_S)
    seen = dict(line.split(": ") for line in log.read_text().splitlines())
    assert seen["0"] == "None"
    assert seen["3"] == "None"  # step 2 failed
    assert seen["5"] == "None"  # step 4 takes another route
    assert seen["1"] in ("0", "None")  # the step before may have given it back


CROSSING = topology(
    dims={"n": 3},
    types={"Box": {"x": "int64[n]", "y": "float32[n]", "none": "int32[0]"}, "Rows": {"seen": "int64[4]"}},
    buffers={"box": {"type": "Box", "slots": 2}, "rows": {"type": "Rows", "persistent": True}},
    nodes={
        "fill": {"kind": "prepare", "acquires": ["box"], "writes": ["box.x"]},
        "work": {"kind": "dispatch", "reads": ["box.x", "rows"], "writes": ["box.y", "box.none"]},
        "tell": {"kind": "reclaim", "reads": ["box"], "writes": ["rows"], "emits": "results"},
        "drop": {"kind": "release", "releases": ["box"]},
    },
    edges={
        "fill -> work": {"carries": ["box"]},
        "work -> tell": {"carries": ["box"]},
        "tell -> drop": {"carries": ["box"]},
        "tell@1 -> work": {},
    },
    lanes={"host": ["fill"], "device": ["work"], "out": ["tell", "drop"]},
)


def test_slots_and_persistent_buffers_are_one_memory_for_all_processes() -> None:
    with running(CROSSING, ["device"], cross, frozenset(), checked=True, threads=1) as run:
        tickets = [run.submit(10 * index) for index in range(6)]
        found = [ticket.result(timeout=HANG_S) for ticket in tickets]
        assert run.pools["rows"].slots[0]["seen"].tolist() == [6, 0, 0, 0]
    assert found == [[20.0 * index + index] * 3 for index in range(6)]


def test_slots_of_an_unfinished_call_are_replaced_in_every_process() -> None:
    unfinished = frozenset({1, 2, 5})
    with running(CROSSING, ["device"], cross, unfinished, checked=True) as run:
        before = [slot["y"].data_ptr() for slot in run.pools["box"].slots]
        found = [run.submit(index).exception(timeout=HANG_S) for index in range(9)]
        after = run.submit(7).result(timeout=HANG_S)
        quarantined = run.pools["box"].quarantined
        assert run.held_slots() == []
    assert {index for index, error in enumerate(found) if error is not None} == unfinished
    assert all(isinstance(found[index].cause, Unfinished) for index in unfinished)
    assert run.quarantined == [("box", index % 2, index) for index in sorted(unfinished)]
    assert [slot["y"].data_ptr() for slot in run.pools["box"].slots] != before
    assert all(torch.equal(slot["y"], torch.full((3,), -1.0)) for slot in quarantined)
    assert after == [14.0 + 6] * 3


AWAY = topology(
    types={"Handle": "resource"},
    buffers={"handle": {"type": "Handle", "slots": 2}},
    nodes={
        "take": {"kind": "bind", "acquires": ["handle"]},
        "work": {"kind": "dispatch", "writes": ["handle"]},
        "drop": {"kind": "release", "releases": ["handle"]},
    },
    edges={"take -> work": {"carries": ["handle"]}, "work -> drop": {"carries": ["handle"]}},
    lanes={"host": ["take"], "device": ["work"], "out": ["drop"]},
)


def test_resources_that_live_in_the_process_of_a_lane_are_counted_there() -> None:
    with running(AWAY, ["device"], grip, frozenset({1, 2})) as run:
        found = [run.submit(index).exception(timeout=HANG_S) for index in range(8)]
    assert [index for index, error in enumerate(found) if error is not None] == [1, 2]
    assert run.quarantined == [("handle", 1, 1), ("handle", 0, 2)]
    assert run.resources() == {"handle": ResourceCounts(made=4, retired=4, rebuilt=2, live=0)}


# -- commands, results and errors that cannot be pickled -------------------------------------------------------


def test_what_cannot_be_pickled_fails_its_step_or_its_submit_and_nothing_else() -> None:
    with running(ONE_BY_ONE, ["lane0", "lane1"], awkward) as run:
        with pytest.raises(TypeError, match="the command goes to a lane in another process"):
            run.submit(lambda: None)
        assert run.submit("fine").result(timeout=HANG_S) == 0
        unsendable = run.submit("fine").exception(timeout=HANG_S)
        kinds = ["lambda", "stubborn", "exit", "deep"]
        errors = {kind: run.submit(kind).exception(timeout=HANG_S) for kind in kinds}
        assert run.submit("fine").result(timeout=HANG_S) == 6
    assert isinstance(unsendable, StepError)
    assert (unsendable.node, unsendable.step) == ("use", 1)
    assert "the result of the step" in str(unsendable.cause)
    for index, kind in enumerate(kinds):
        assert isinstance(errors[kind], StepError)
        assert (errors[kind].node, errors[kind].step) == ("make", 2 + index)
    for kind, name in (("lambda", "acting.Failure"), ("stubborn", "acting.Stubborn")):
        stand_in = errors[kind].cause
        assert isinstance(stand_in, RemoteError)
        assert stand_in.type_name.endswith(name)
        assert "in awkward" in stand_in.traceback_text
    assert errors["stubborn"].cause.text == "1 and 2"
    assert isinstance(errors["exit"].cause, SystemExit)
    assert isinstance(errors["deep"].cause, Failure)
    assert "KeyError: 'the cause of it'" in errors["deep"].cause.__notes__[0]
    assert "lane `lane0`" in errors["deep"].cause.__notes__[0]


SEEING = CROSSING.model_copy(
    update={
        "nodes": {
            **CROSSING.nodes,
            "drop": CROSSING.nodes["drop"].model_copy(update={"reads": CROSSING.nodes["tell"].reads}),
        }
    }
)


def test_a_release_node_sees_the_error_of_another_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running(SEEING, ["device", "out"], release_tells, str(log)) as run:
        errors = [run.submit(index).exception(timeout=HANG_S) for index in range(3)]
    assert [error is not None for error in errors] == [False, True, False]
    assert log.read_text() == "1 work Failure('work') [0, 0, 0] None\n"


# -- steps that do not start -----------------------------------------------------------------------------------


def test_a_ticket_can_be_cancelled_until_a_lane_in_whatever_process_has_begun_its_step() -> None:
    with running(ONE_BY_ONE, ["lane0"], slow_first, queue=4) as run:
        tickets = [run.submit(index) for index in range(4)]
        assert tickets[2].cancel()
        assert tickets[2].cancel()
        assert tickets[0].result(timeout=HANG_S) == 0
        assert not tickets[0].cancel()
        assert tickets[1].result(timeout=HANG_S) == 1
        assert tickets[3].result(timeout=HANG_S) == 3
        with pytest.raises(CancelledError):
            tickets[2].result(timeout=HANG_S)
    assert {span.step for span in run.spans()} == {0, 1, 3}


class Boom(Exception):
    pass


def test_an_exception_cancels_what_has_not_started_and_drains_the_rest() -> None:
    tickets: list[Any] = []

    def body() -> None:
        with running(ONE_BY_ONE, ["lane0"], slow_first, queue=5) as run:
            tickets.extend(run.submit(index) for index in range(6))
            while not tickets[0].running():
                pass
            raise Boom

    with pytest.raises(Boom):
        body()
    assert tickets[0].result(timeout=0) == 0
    assert isinstance(tickets[5].exception(timeout=0), RuntimeStopped)
    assert all(ticket.done() for ticket in tickets)


# -- bubbles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lag", "lanes"),
    [
        (1, ("host",)),
        (2, ("device",)),
        pytest.param(3, ("host", "device"), marks=pytest.mark.slow),
        pytest.param(2, ("host",), marks=pytest.mark.slow),
    ],
)
def test_a_result_never_waits_for_the_next_command(lag: int, lanes: tuple[str, ...]) -> None:
    with running(lagging(lag), lanes, nothing, checked=True) as run:
        for index in range(200):
            assert run.submit(index).result(timeout=HANG_S) == index
        assert run.bubbles > 0
        assert len(run._shared.records) <= run.capacity + run.bubbles
    assert sorted({span.step for span in run.spans()}) == list(range(200))
