"""A call that fails on one of the queues fails the requests of its step; the others get their tokens."""

from __future__ import annotations

import pytest

from graph import StepError
from graph.errors import Unfinished
from nodes.misbehaving import FailsAtCompletion, FailsAtLaunch, Fault, Never, misbehaving
from tests.deepseek.streaming import Decoding, expected

pytestmark = pytest.mark.usefixtures("nothing_left")

LANES = {
    "copy_in": {"copy_in", "copy_in_prompts", "copy_in_retiring"},
    "device": {"dispatch", "prefill", "retire"},
    "copy_out": {"copy_out", "copy_out_firsts"},
}
USED = {
    "copy_in": {"prompts", "device_prompts"},
    "device": {"device_prompts", "device_firsts"},
    "copy_out": {"device_firsts", "firsts"},
}
"""By the first step, a prefill, on each lane."""


def check(found: Decoding, lane: str) -> list[str]:
    """Right tokens for all, whole ones for those that were not failed on the lane; returns which were."""
    failed = []
    for number, whole in enumerate(expected()):
        one = found.told[str(number)]
        assert one.tokens == list(whole[: len(one.tokens)])
        if one.finish == "error":
            assert isinstance(one.error, StepError)
            assert one.error.node in LANES[lane]
            failed.append(str(number))
        else:
            assert (one.finish, len(one.tokens)) == ("length", len(whole))
    return failed


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (3, FailsAtCompletion()),
        *(pytest.param(call, FailsAtCompletion(), marks=pytest.mark.slow) for call in (0, 5, 8)),
        *(pytest.param(call, FailsAtLaunch(), marks=pytest.mark.slow) for call in (0, 3, 5, 8)),
    ],
)
def test_a_failed_call_fails_the_requests_of_its_step(lane: str, call: int, fault: Fault) -> None:
    found = Decoding("stream", checked=True, make_queue=misbehaving({call: fault}, lane))
    assert 0 < len(check(found, lane)) < len(expected())
    assert found.run.quarantined == []


@pytest.mark.slow
@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("lane", LANES)
def test_calls_that_fail_again_and_again_leave_nothing_behind(lane: str) -> None:
    faults = misbehaving({call: FailsAtCompletion() for call in range(2, 60, 7)}, lane)
    assert check(Decoding("stream", checked=True, make_queue=faults), lane)


@pytest.mark.parametrize("lane", LANES)
def test_slots_and_rows_of_a_call_that_is_not_proved_complete_stay_out_of_use(lane: str) -> None:
    found = Decoding("stream", make_queue=misbehaving({0: Never()}, lane), completion_timeout=0.3)
    failed = check(found, lane)
    assert {buffer for buffer, _, _ in found.run.quarantined} == USED[lane]
    assert found.stats.withdrawn_rows == len(failed) == 2
    for name in failed:
        error = found.told[name].error
        assert error is not None
        assert isinstance(error.cause, Unfinished)
