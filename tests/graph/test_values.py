"""Plain values along edges: by reference, None where their producer was absent, passed or failed."""

from __future__ import annotations

from typing import Any

import pytest

from graph import StepError
from tests.fakes import HANG_S, probed, topology

pytestmark = pytest.mark.usefixtures("nothing_left")

FLOW = topology(
    types={"Tokens": "value", "Note": "value"},
    nodes={
        "make": {"kind": "bind"},
        "use": {"kind": "reclaim", "emits": "results"},
        "late": {"kind": "bind"},
        "end": {"kind": "release"},
        "other": {"kind": "bind"},
    },
    edges={
        "make -> use": {"value": "Tokens"},
        "use@1 -> late": {"value": "Note"},
        "late -> make": {},
        "make -> end": {"value": "Tokens"},
        "use -> end": {"value": "Note"},
    },
    lanes={"one": ["late", "make"], "two": ["use", "end"], "three": ["other"]},
    routes={"full": ["late", "make", "use", "end"], "without": ["late", "use", "end"], "none": ["other"]},
)


class Failure(Exception):
    pass


def drive(routes: list[str], fail: dict[int, str], after_put: bool = False) -> dict[tuple[str, int], Any]:
    seen: dict[tuple[str, int], Any] = {}

    def behave(node: str, step: Any, slots: Any) -> Any:
        failing = fail.get(step.index) == node
        if failing and not after_put:
            raise Failure
        if node == "make":
            step.put("Tokens", ["tokens of", step.index])
        if node == "use":
            seen[node, step.index] = step.get("Tokens")
            step.put("Note", step.index)
        if node == "late":
            seen[node, step.index] = step.get("Note")
        if node == "end":
            seen[node, step.index] = (step.get("Tokens"), step.get("Note"))
        if failing:
            raise Failure
        return None

    with probed(FLOW, behave).run(checked=True) as run:
        for index, route in enumerate(routes):
            error = run.submit(index, route=route).exception(timeout=HANG_S)
            assert (error is not None) == (index in fail)
    return seen


def test_a_value_arrives_in_its_own_step() -> None:
    seen = drive(["full"] * 4, {})
    assert [seen["use", index] for index in range(4)] == [["tokens of", index] for index in range(4)]


def test_a_value_of_the_step_before_arrives_one_step_later() -> None:
    seen = drive(["full"] * 4, {})
    assert [seen["late", index] for index in range(4)] == [None, 0, 1, 2]


def test_a_value_is_absent_where_its_producer_is_not_in_the_route() -> None:
    seen = drive(["full", "without", "none", "full"], {})
    assert seen["use", 1] is None
    assert seen["late", 3] is None


@pytest.mark.parametrize("after_put", [False, True])
def test_a_value_is_absent_where_its_producer_failed_even_after_it_had_put_it(after_put: bool) -> None:
    seen = drive(["full"] * 4, {1: "make", 2: "use"}, after_put)
    assert seen["end", 1] == (None, None)
    assert seen["late", 2] is None
    assert seen["end", 2] == (["tokens of", 2], None)
    assert seen["late", 3] is None


def test_a_value_of_a_step_that_failed_later_is_absent_to_the_next_one() -> None:
    seen = drive(["full"] * 3, {1: "end"})
    assert seen["late", 2] is None


def test_values_go_by_reference() -> None:
    made: list[Any] = []
    got: list[Any] = []

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "make":
            made.append(object())
            step.put("Tokens", made[-1])
        if node == "use":
            got.append(step.get("Tokens"))

    with probed(FLOW, behave).run() as run:
        run.submit(0).result(timeout=HANG_S)
    assert got[0] is made[0]


@pytest.mark.parametrize(
    ("node", "act", "message"),
    [
        ("make", lambda step: step.put("Note", 1), "gives no value `Note`"),
        ("use", lambda step: step.get("Note"), "takes no value `Note`"),
        ("use", lambda step: step.command, "does not see the command"),
    ],
)
def test_only_what_the_file_declares(node: str, act: Any, message: str) -> None:
    with probed(FLOW, lambda name, step, slots: act(step) and None if name == node else None).run() as run:
        error = run.submit(0).exception(timeout=HANG_S)
    assert isinstance(error, StepError)
    assert message in str(error.cause)


def test_a_step_knows_its_number_route_rows_and_command() -> None:
    seen: list[Any] = []

    def behave(node: str, step: Any, slots: Any) -> None:
        if node in ("prepare_retire", "bind"):
            seen.append((node, step.index, step.route, step.rows, step.command))

    with probed("overlap", behave).run() as run:
        assert run.rows is not None
        row = run.rows.reserve()
        assert row is not None
        run.submit("first").result(timeout=HANG_S)
        run.submit("second", route="retire", rows=(row,)).result(timeout=HANG_S)
        run.submit("third", route="decode").result(timeout=HANG_S)
    assert seen == [
        ("bind", 0, "decode", (), "first"),
        ("prepare_retire", 1, "retire", (row,), "second"),
        ("bind", 2, "decode", (), "third"),
    ]
