"""Figures of runs made by hand, whose values are known."""

from __future__ import annotations

from typing import Any

import pytest

from graph import load
from graph.figures import MEANINGS, SPREADS, figures
from graph.render.report import as_dict, compare, render, summary
from graph.report import Report, report
from graph.spread import Share, spread
from graph.stalls import Cause
from graph.trace import Clock
from tests.graph.spans import PIPELINE, steps, trace


def pipelined(count: int = 4, **dispatch: Any) -> dict[int, list[tuple[Any, ...]]]:
    """Dispatches of 9 ms every 10 ms; prepare(k+1) and reclaim(k-1) inside dispatch(k)."""
    return {
        k: [
            ("prepare", 10 * k - 6, 10 * k - 4),
            ("dispatch", 10 * k, 10 * k + 9, dispatch),
            ("reclaim", 10 * k + 10.5, 10 * k + 12),
            ("release", 10 * k + 12, 10 * k + 12.5),
        ]
        for k in range(count)
    }


def synchronous(count: int = 4) -> dict[int, list[tuple[Any, ...]]]:
    """The same work one after the other: 12 ms a step."""
    return {
        k: [
            ("prepare", 12 * k - 2, 12 * k),
            ("dispatch", 12 * k, 12 * k + 9),
            ("reclaim", 12 * k + 9, 12 * k + 9.75),
            ("release", 12 * k + 9.75, 12 * k + 10),
        ]
        for k in range(count)
    }


def made(times: dict[int, list[tuple[Any, ...]]], **other: Any) -> Report:
    return report(trace(steps(times), **other))


def test_period_span_and_gap_add_up() -> None:
    found = made(pipelined())
    assert found.steps == 4
    assert found.period == (10, 10, 10, 10, 3)
    assert found.span == (9, 9, 9, 9, 4)
    assert found.gap_py == (1, 1, 1, 1, 3)


def test_without_a_clock_of_the_device_the_true_gap_is_not_measured() -> None:
    found = made(pipelined())
    assert found.gap_true is None
    assert found.gap == found.gap_py


def test_the_true_gap_counts_from_where_the_device_was_done() -> None:
    """The device worked for 7 of the 9 ms that Python saw."""
    found = made(pipelined(device=7.0))
    assert found.gap_true == (3, 3, 3, 3, 3)
    assert found.gap == found.gap_true


def test_overlap_is_counted_with_the_smallest_margin() -> None:
    found = made(pipelined())
    assert found.prepare_overlap == Share(
        3, 3, 3.0
    )  # from the end of dispatch(k), 9, back to that of prepare(k+1), 6
    assert found.reclaim_overlap == Share(
        3, 3, 0.5
    )  # reclaim(k) starts half a millisecond into dispatch(k+1)


def test_without_overlap_the_margin_says_what_is_missing() -> None:
    found = made(synchronous())
    assert found.prepare_overlap == Share(0, 3, -3.0)
    assert found.reclaim_overlap == Share(0, 3, -3.0)


def test_one_step_that_misses_is_seen_in_count_and_margin() -> None:
    times = pipelined()
    times[2][0] = ("prepare", 18.5, 19.25)
    assert made(times).prepare_overlap == Share(2, 3, -0.25)


def test_only_steps_of_the_route_are_counted_and_only_neighbours() -> None:
    """Step 2 is a prefill: neither is it a decode step, nor are its neighbours adjacent to each other."""
    times = pipelined(6)
    times[2] = [("other", 20, 29, {"route": "prefill"})]
    found = made(times)
    assert found.steps == 5
    assert found.period is not None
    assert found.period.samples == 3  # 0-1, 3-4, 4-5
    assert found.prepare_overlap.of == 3
    assert "other" not in found.nodes
    prefill = report(trace(steps(times)), route="prefill")
    assert (prefill.steps, prefill.period, prefill.prepare_overlap.of) == (1, None, 0)


def test_a_route_with_several_dispatches_is_spanned_from_the_first_to_the_last() -> None:
    spans = steps(
        {k: [("dispatch", 10 * k, 10 * k + 3), ("other", 10 * k + 4, 10 * k + 6)] for k in range(3)}
    )
    found = report(trace(spans))
    assert found.span is not None
    assert found.gap_py is not None
    assert (found.span.median, found.gap_py.median) == (6, 4)


def test_percentiles_are_samples() -> None:
    assert spread([million * 1_000_000 for million in range(1, 101)]) == (50.5, 95, 99, 100, 100)
    assert spread([3_000_000]) == (3, 3, 3, 3, 1)
    assert spread([]) is None


def test_nodes_have_their_own_durations_and_one_that_raised_is_left_out() -> None:
    times = pipelined()
    times[3][2] = ("reclaim", 40.5, 49.5, {"error": "failed"})
    found = made(times)
    assert found.nodes["reclaim"] == (1.5, 1.5, 1.5, 1.5, 3)
    assert found.nodes["prepare"] == (2, 2, 2, 2, 4)
    assert found.failed == 1


def test_a_node_that_never_fired_was_not_measured() -> None:
    assert report(trace(steps({0: [("dispatch", 0, 9)]}))).nodes["release"] is None


def test_the_prediction_takes_the_measured_medians() -> None:
    """The device lane is full at 9 ms; a step took 10."""
    found = made(pipelined()).predicted
    assert found is not None
    assert found.period_ms == 9
    assert found.ratio == pytest.approx(10 / 9)
    assert found.limit == "device lane is full: dispatch"


def test_a_schedule_that_repeats_every_second_step_is_measured_over_two() -> None:
    """Two slots, each held for 11 ms: a step every 5.5 ms, which comes as 5 and 6 ms in turn."""
    times = {}
    for k in range(6):
        at = 11 * (k // 2) + 5 * (k % 2)
        times[k] = [("prepare", at, at + 4), ("dispatch", at + 4, at + 9)]
        times[k] += [("reclaim", at + 9, at + 10), ("release", at + 10, at + 11)]
    found = made(times)
    assert found.period is not None
    assert found.predicted is not None
    assert found.period.median == 5
    assert (found.predicted.period_ms, found.predicted.ratio) == (5.5, 1)
    assert "2 slots of `inputs`" in found.predicted.limit


def test_why_lanes_stood_still_is_summed_by_cause() -> None:
    times = pipelined()
    for k in range(1, 4):
        node, start, end = times[k][1][:3]
        times[k][1] = (node, start, end, {"ready": start - 1})
        times[k][0] = ("prepare", start - 2.5, start - 0.5)
    (first,) = [one for one in made(times).waiting if one.lane == "device" and one.cause.reason == "edge"]
    assert (first.node, first.cause, first.count) == ("dispatch", Cause("edge", "prepare"), 3)
    assert (first.total_ms, first.longest_ms) == (1.5, 0.5)


def test_lanes_tell_how_busy_they_were() -> None:
    device = made(pipelined()).lanes["device"]
    assert device.busy == pytest.approx(36 / 39)
    assert device.waiting_ms == pytest.approx(3 / 4)


def test_a_lane_that_never_worked_was_not_measured() -> None:
    assert made({0: [("dispatch", 0, 9)]}).lanes["host"].busy is None


# -- ranks


def test_ranks_are_pooled_and_the_worst_of_them_is_the_maximum() -> None:
    slow = {k: [("dispatch", 12 * k, 12 * k + 9)] for k in range(4)}
    found = report(trace(steps(pipelined())), trace(steps(slow), rank=1))
    assert found.ranks == (0, 1)
    assert found.steps == 8
    assert found.period == (11, 12, 12, 12, 6)


def test_skew_is_between_the_first_and_the_last_rank_to_start_a_step() -> None:
    late = {k: [("dispatch", 10 * k + delay, 10 * k + 9)] for k, delay in enumerate((0.25, 0.5, 0.75, 4))}
    found = report(trace(steps(pipelined())), trace(steps(late), rank=1))
    assert found.skew == (0.625, 4, 4, 4, 4)


def test_skew_is_on_one_clock() -> None:
    """Rank 1 counts from 100 ms earlier, on another machine."""
    here = trace(steps(pipelined()), clock=Clock(0, 10**18, "a"))
    there = trace(steps(pipelined()), rank=1, clock=Clock(100_000_000, 10**18 + 101_000_000, "b"))
    found = report(here, there)
    assert found.skew is not None
    assert found.skew.median == 1


def test_one_rank_has_no_skew() -> None:
    assert made(pipelined()).skew is None


def test_ranks_of_different_topologies_are_refused() -> None:
    with pytest.raises(ValueError, match="rank 1 ran another `pingpong`"):
        report(trace([]), trace([], of=load("pingpong"), rank=1))


def test_an_unknown_route_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no route `decod`; `test` has decode, prefill"):
        report(trace([]), route="decod")


# -- as figures, table and data


def test_an_empty_run_has_nothing_measured() -> None:
    found = report(trace([]))
    assert found.period is found.span is found.gap is None
    assert found.predicted is None
    assert "not measured" in render(found)


def test_every_figure_has_a_name_that_is_explained() -> None:
    names = figures(made(pipelined()))
    explained = set(MEANINGS)
    for name in names:
        general = name
        for kind in ("prepare", "reclaim"):
            general = general.replace(f"overlap.{kind}.", "overlap.KIND.")
        for prefix, members in (("node", PIPELINE.nodes), ("lane", PIPELINE.lanes)):
            for member in members:
                general = general.replace(f"{prefix}.{member}.", f"{prefix}.NAME.")
        for which in SPREADS:
            general = general.removesuffix(which) + "*" if general.endswith(f".{which}") else general
        assert general in explained, name
    assert names["overlap.prepare"] == 1
    assert names["gap.median_ms"] == 1
    assert names["gap_true.median_ms"] is None
    assert names["fallback"] == 0


def test_a_fallback_is_told_with_its_reason_everywhere() -> None:
    found = made(pipelined(), fallback="the executor lacks `device_state`")
    assert figures(found)["fallback"] == 1
    assert as_dict(found)["fallback"] == "the executor lacks `device_state`"
    assert "the executor lacks `device_state`" in render(found)
    assert ("fallback", "the executor lacks `device_state`") in summary(found)


def test_notes_of_the_application_are_told() -> None:
    found = made(pipelined(), notes={"dispatch": "eager"})
    assert ("dispatch", "eager") in summary(found)
    assert "dispatch: eager" in render(found)


def test_lost_spans_are_told() -> None:
    found = made(pipelined(), dropped={"host": 3, "device": 4})
    assert found.dropped == 7
    assert "7 older firings are no longer in the trace" in render(found)


def test_before_and_after_a_change_stand_side_by_side() -> None:
    lines = compare(made(synchronous()), made(pipelined())).splitlines()
    rows = {line[:42].strip(): line[42:].split() for line in lines[3:]}
    assert rows["dispatch span, ms"] == ["9.000", "9.000", "+0.0%"]
    assert rows["gap_py, ms"] == ["3.000", "1.000", "-66.7%"]
    assert rows["span plus gap, ms"] == ["12.000", "10.000", "-16.7%"]
    assert rows["prepare(k+1) over before dispatch(k) ends"] == [
        "0",
        "of",
        "3",
        "(0%)",
        "3",
        "of",
        "3",
        "(100%)",
    ]
    assert rows["reclaim(k) inside dispatch(k+1)"] == ["0", "of", "3", "(0%)", "3", "of", "3", "(100%)"]
