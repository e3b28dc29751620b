"""The contract, and the peers of the standard library and laneflow, which keep to it; `test_quick` has the others."""

import importlib

import pytest

from benchmarks.work import Call, Calls, Work, check
from benchmarks.workloads import WORKLOADS, nothing

OWN = ["sequential", "threads", "futures", "laneflow"]


@pytest.mark.parametrize("peer", OWN)
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_a_peer_keeps_order_and_slots(peer, slots):
    work = Work(nothing, nothing, nothing, steps=40, slots=slots)
    calls = importlib.import_module(f"benchmarks.peers.{peer}").run(work)
    assert check(calls, work) == []


def in_turn(steps, period=10):
    """Calls one after the other: prepare, device and reclaim of a step take 1 each."""
    starts = [step * period for step in range(steps)]
    return Calls(
        [Call(at, at + 1, 0) for at in starts],
        [Call(at + 1, at + 2, 1) for at in starts],
        [Call(at + 2, at + 3, 0) for at in starts],
    )


def test_calls_in_turn_are_no_breach():
    assert check(in_turn(5), Work(nothing, nothing, nothing, 5)) == []


def test_a_missing_call_is_a_breach():
    calls = in_turn(5)
    calls.device.pop()
    assert check(calls, Work(nothing, nothing, nothing, 5)) == ["4 calls of device for 5 steps"]


def test_a_device_call_before_its_prepare_is_through_is_a_breach():
    calls = in_turn(5)
    calls.device[3] = Call(30, 31, 1)
    assert check(calls, Work(nothing, nothing, nothing, 5)) == [
        "device starts before prepare of its step is through, first at step 3"
    ]


def test_two_calls_of_one_body_at_a_time_are_a_breach():
    calls = in_turn(5)
    calls.device[2] = Call(21, 32, 11)
    calls.reclaim[2] = Call(32, 32, 0)
    found = check(calls, Work(nothing, nothing, nothing, 5))
    assert found == ["device starts before that of the step before is through, first at step 3"]


def test_a_third_step_in_two_slots_is_a_breach():
    calls = in_turn(4)
    calls.reclaim[1] = Call(31, 32, 0)
    calls.reclaim[2] = Call(32, 32, 0)
    found = check(calls, Work(nothing, nothing, nothing, 4))
    assert found == ["more than 2 slots in use, first at step 3"]


def test_the_bodies_of_every_workload_run_and_tell_the_devices_own_time():
    for workload in WORKLOADS.values():
        work = workload.work(steps=1, size=64)
        assert (work.prepare(), work.reclaim()) == (0, 0)
        own = work.device()
        assert own > 0 if workload.product else own == round(workload.device_ms * 1e6)
