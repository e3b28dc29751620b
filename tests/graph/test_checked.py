"""A checked run catches what no declaration allows; an unchecked one does not look."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

from typing import Any

import pytest
import torch

from graph import InternalError, StepError
from graph.checked import GuardError
from tests.fakes import HANG_S, probed
from tests.graph.test_slots import parts

pytestmark = pytest.mark.usefixtures("nothing_left")


def outcome(act: Any, at: str = "work", checked: bool = True, steps: int = 1) -> list[Any]:
    probes = probed(parts(), lambda node, step, slots: act(step, slots) if node == at else None)
    with probes.run(checked=checked) as run:
        return [run.submit(index).exception(timeout=HANG_S) for index in range(steps)]


def caught(error: Any) -> str:
    assert isinstance(error, StepError)
    assert isinstance(error.cause, GuardError)
    return str(error.cause)


def write_tokens(step: Any, slots: Any) -> None:
    slots.inputs.tokens.zero_()


def test_writing_a_field_that_is_only_read_is_caught() -> None:
    assert "inputs.tokens" in caught(outcome(write_tokens)[0])


def test_so_is_writing_a_persistent_field_that_is_only_read() -> None:
    def act(step: Any, slots: Any) -> None:
        slots.state.generation.zero_()

    assert "state.generation" in caught(outcome(act)[0])


def test_so_is_a_write_under_inference_mode() -> None:
    def act(step: Any, slots: Any) -> None:
        with torch.inference_mode():
            slots.inputs.tokens.zero_()

    assert "inputs.tokens" in caught(outcome(act)[0])


def test_declared_writes_pass() -> None:
    def act(step: Any, slots: Any) -> None:
        slots.inputs.scale.fill_(1)
        slots.state.tail.fill_(1)

    assert outcome(act, steps=5) == [None] * 5


def test_without_checks_nothing_is_policed() -> None:
    assert outcome(write_tokens, checked=False) == [None]


@pytest.mark.parametrize(
    "look",
    [
        lambda slots, inputs: slots.inputs,
        lambda slots, inputs: inputs.scale,
        lambda slots, inputs: dict(inputs),
        lambda slots, inputs: slots.handle,
    ],
)
def test_looking_at_slots_after_the_call_is_caught(look: Any) -> None:
    kept: list[tuple[Any, Any]] = []

    def act(step: Any, slots: Any) -> None:
        if kept:
            look(*kept[0])
        kept.append((slots, slots.inputs))

    first, second = outcome(act, steps=2)
    assert first is None
    assert "after its call" in caught(second)


def test_released_slots_are_poisoned() -> None:
    seen: list[Any] = []

    def act(step: Any, slots: Any) -> None:
        seen.append((slots.inputs.tokens.clone(), slots.inputs.done.clone()))
        slots.inputs.tokens.fill_(step.index)

    assert outcome(act, at="take", steps=4) == [None] * 4
    assert [bool((tokens == torch.iinfo(torch.int64).min).all()) for tokens, _ in seen] == [
        False,
        False,
        True,
        True,
    ]
    assert seen[3][1].all()


def test_floats_are_poisoned_with_what_no_computation_hides() -> None:
    probes = probed(parts())
    with probes.run(checked=True) as run:
        run.submit(0).result(timeout=HANG_S)
    assert torch.isnan(run.pools["inputs"].slots[0]["scale"]).all()
    assert not torch.isnan(run.pools["inputs"].slots[1]["scale"]).any()


def test_a_slot_of_another_tenant_is_caught() -> None:
    """Cannot happen in a proved program, so the tenant is changed by hand."""
    probes = probed(parts(), lambda node, step, slots: slots.inputs and None if node == "work" else None)
    run = probes.run(checked=True)
    work = probes.executor.nodes["work"]
    behave = work.behave  # type: ignore[attr-defined]

    def act(node: str, step: Any, slots: Any) -> None:
        run.pools["inputs"].tenant[0] = 99
        try:
            behave(node, step, slots)
        finally:
            run.pools["inputs"].tenant[0] = 0

    work.behave = act  # type: ignore[attr-defined]
    with run:
        assert "belongs to turn 99" in caught(run.submit(0).exception(timeout=HANG_S))


def test_a_token_too_few_at_rest_is_our_bug() -> None:
    run = probed("pingpong").run(checked=True)
    with pytest.raises(InternalError, match="tokens"), run:
        run.submit(0).result(timeout=HANG_S)
        run._parts.channels[0][0].append(_open_lock())


def _open_lock() -> Any:
    import threading

    return threading.Lock()


def test_a_slot_that_is_held_at_rest_is_our_bug() -> None:
    run = probed("pingpong").run(checked=True)
    with pytest.raises(InternalError, match="`inputs` slot 1"), run:
        run.pools["inputs"].tenant[1] = 77
