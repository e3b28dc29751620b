"""Figures from calls that are made up."""

import pytest

from benchmarks.figures import bound, figures, over_rounds, ratio
from benchmarks.overhead import Point, fit
from benchmarks.peers.laneflow import TOPOLOGY
from benchmarks.validation import exponent
from benchmarks.workloads import WORKLOADS
from graph import load

MS = 1_000_000


def steady(steps=20, period=10 * MS, device=8 * MS, own=7 * MS):
    """A device call each period, known to have worked for `own`; its reclaim ends half a millisecond later."""
    starts = [step * period for step in range(steps)]
    return {
        "prepare": [[at - 2 * MS, at - MS, 0] for at in starts],
        "device": [[at, at + device, own] for at in starts],
        "reclaim": [[at + device, at + device + MS // 2, 0] for at in starts],
    }


def test_gap_py_is_from_end_to_start_and_gap_true_from_the_devices_own_end():
    found = figures(steady(), slots=2)
    assert found.period == 10
    assert found.gap_py == 2
    assert found.gap_true == 3
    assert found.step == pytest.approx(10)
    assert found.own == 7


def test_a_period_is_taken_over_as_many_steps_as_there_are_slots():
    calls = steady()
    for step in range(1, 20, 2):  # every other step starts late
        calls["device"][step][0] += MS
    assert figures(calls, slots=2).period == 10


def test_steps_of_the_warm_up_are_left_out():
    calls = steady(steps=40)
    calls["device"][0] = [-500 * MS, -400 * MS, 7 * MS]
    assert figures(calls, slots=2) == figures(steady(steps=40), slots=2)


def test_a_ratio_is_taken_within_a_round():
    quiet, busy = figures(steady(), 2), figures(steady(period=30 * MS), 2)
    own, other = {0: quiet, 1: busy}, {0: quiet, 1: busy, 2: quiet}
    assert ratio(own, other, lambda one: one.period) == 1
    assert over_rounds([quiet, busy, busy]).period == 30


def test_there_is_no_ratio_without_a_common_round():
    assert ratio({0: figures(steady(), 2)}, {}, lambda one: one.period) is None


@pytest.mark.parametrize(
    ("name", "own", "period", "limit"),
    [
        ("W1", 45, 45, "device lane is full"),
        ("W2", 1, 1.3, "the interpreter lock"),
        ("W4", 5.5, 5.5, "device lane is full"),
        ("W3", 0, 0, "no node takes time"),
    ],
)
def test_the_bound_is_the_critical_cycle_or_the_interpreter_lock(name, own, period, limit):
    run = figures(steady(own=round(own * MS)), 2)
    found = bound(load(str(TOPOLOGY)), WORKLOADS[name], [run])
    assert float(found.period) == period
    assert found.limit.text.startswith(limit)


def test_the_fit_finds_what_each_part_costs():
    points = [
        Point(nodes, lanes, buffers, False, crossings, 5 + 20 * crossings + 2 * nodes + 3 * buffers)
        for nodes, lanes, buffers, crossings in [
            (3, 1, 1, 0),
            (6, 3, 1, 3),
            (12, 2, 4, 2),
            (24, 8, 2, 8),
            (48, 1, 1, 0),
        ]
    ]
    found = fit(points)
    assert (found.constant, found.crossing, found.node, found.slot) == pytest.approx((5, 20, 2, 3))
    assert found.median_residual == pytest.approx(0, abs=1e-9)


def test_the_exponent_of_a_square_is_two():
    assert exponent([10, 20, 40], [3, 12, 48]) == pytest.approx(2)
