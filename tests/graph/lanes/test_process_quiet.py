"""A process lane tells that it is through with a step only where nobody else could know."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from graph.lanes.child import SPANS_AT_ONCE
from graph.lanes.processes import Processes
from tests.fakes import HANG_S, chain, until
from tests.graph.lanes.acting import Failure, nothing
from tests.graph.lanes.driving import running

pytestmark = pytest.mark.usefixtures("nothing_left")

CHAIN = chain(["a"], ["b"], ["c"])


def fails(name: str, step: Any, slots: Any, at: tuple[str, int]) -> None:
    if (name, step.index) == at:
        raise Failure


def messages(run: Any) -> Counter[tuple[str, str]]:
    """By lane and kind, what comes up its pipe; counted from now on."""
    found: Counter[tuple[str, str]] = Counter()
    for name, lane in run._processes.lanes.items():

        def receive(name: str = name, old: Any = lane._receive) -> Any:
            message = old()
            found[name, message[0]] += 1
            return message

        lane._receive = receive
    return found


@pytest.mark.parametrize(
    ("away", "told"),
    [
        (["lane0", "lane1"], {}),
        (
            ["lane1", "lane2"],
            {"lane1": 100, "lane2": 100},
        ),  # one has the results, the other no later node there
    ],
)
def test_a_lane_is_quiet_where_a_later_node_is_in_the_process_of_the_run(
    away: list[str], told: dict[str, int]
) -> None:
    run = running(CHAIN, away, nothing)
    seen = messages(run)
    with run:
        tickets = [run.submit(index) for index in range(100)]
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == list(range(100))
    assert {name: count for (name, kind), count in seen.items() if kind == "through"} == told
    assert sum(seen.values()) < 10 * len(away) + sum(told.values())
    assert Counter(span.node for span in run.spans()) == {"a": 100, "b": 100, "c": 100}


@pytest.mark.parametrize(
    "routes", [["full"], ["full", "short"], ["short", "full"], ["short", "short", "full"]]
)
def test_spans_of_a_quiet_lane_come_while_the_run_goes_on(routes: list[str]) -> None:
    """Whatever the rhythm of the routes that come to it, and never more than a message's worth behind."""
    topology = chain(["a"], ["c"], routes={"full": ["a", "c"], "short": ["c"]})
    run = running(topology, ["lane0"], nothing)
    seen = messages(run)
    with run:
        for index in range(400):
            run.submit(index, route=routes[index % len(routes)]).result(timeout=HANG_S)
        full = 400 // len(routes)
        until(
            lambda: Counter(span.node for span in run.spans())["a"] > full - SPANS_AT_ONCE,
            "the spans have come",
        )
        assert seen["lane0", "spans"] == full // SPANS_AT_ONCE
    assert Counter(span.node for span in run.spans())["a"] == sum(
        routes[index % len(routes)] == "full" for index in range(400)
    )


def test_a_quiet_lane_sends_nothing_where_nothing_is_recorded() -> None:
    run = running(CHAIN, ["lane0"], nothing, record=False)
    seen = messages(run)
    with run:
        for index in range(200):
            run.submit(index).result(timeout=HANG_S)
        assert seen["lane0", "spans"] == 0
    assert run.spans() == []


@pytest.mark.parametrize("node", ["a", "c"])
def test_a_step_that_fails_on_a_quiet_lane_takes_its_place(node: str) -> None:
    with running(CHAIN, ["lane0", "lane1"], fails, (node, 2)) as run:
        found = [run.submit(index).exception(timeout=HANG_S) for index in range(5)]
    assert [error is None for error in found] == [True, True, False, True, True]
    assert (found[2].node, found[2].step) == (node, 2)  # type: ignore[union-attr]


def test_what_a_run_holds_of_a_step_does_not_depend_on_who_is_told() -> None:
    """Quiet nodes are not waited for, and at least one node of a step always is."""
    run = running(CHAIN, ["lane0", "lane1"], nothing)
    processes = run._processes
    assert isinstance(processes, Processes)
    assert processes._untold == {"default": 2}
    with run:
        for index in range(30):
            assert run.submit(index).result(timeout=HANG_S) == index
        assert run._outbox.unresolved() == []
