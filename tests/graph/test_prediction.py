"""The prediction against runs of random topologies over nodes that sleep."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest

from benchmarks.prediction import SEED, Case, cases, ratios, run, summary
from graph.report import report
from graph.schedule import schedule
from tests.graph.firing_order import waits


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    print(f"seed {SEED}")
    return list(cases(12))


def test_a_run_of_a_case_has_every_firing_and_keeps_every_wait(drawn: list[Case], nothing_left: None) -> None:
    for case in drawn:
        trace = run(case, steps=10, scale=0.01)
        route = case.topology.steps_routes()[case.prediction.route]
        assert Counter(span.node for span in trace.spans) == dict.fromkeys(route, 10)
        lag = case.prediction.graph.lag
        at = {(span.node, span.step + lag[span.node]): span for span in trace.spans}
        for (producer, consumer), tokens in waits(case.topology).items():
            for (node, turn), span in at.items():
                source = at.get((producer, turn - tokens))
                if node == consumer and source is not None:
                    assert source.end <= span.start, (case.number, producer, consumer)


def test_the_schedule_without_delays_has_the_predicted_period_exactly(drawn: list[Case]) -> None:
    """What is measured is then off by what the machine adds, and by nothing else."""
    for case in drawn:
        steps = 4 * case.tokens + 40
        done: dict[int, float] = {}
        for firing in schedule(case.topology, case.costs, steps):
            done[firing.step] = max(firing.end, done.get(firing.step, 0.0))
        window = case.tokens * ((steps // 2) // case.tokens)
        last = steps - 1 - max(case.prediction.graph.lag.values())
        period = (done[last] - done[last - window]) / window
        assert period == pytest.approx(float(case.prediction.period)), case.number


def test_the_report_of_such_a_run_knows_its_lanes_and_stalls(drawn: list[Case], nothing_left: None) -> None:
    found = report(run(drawn[1], steps=10, scale=0.01))
    assert found.failed == found.dropped == 0
    assert {one.lane for one in found.waiting} <= set(drawn[1].topology.lanes)
    assert found.lanes.keys() == drawn[1].topology.lanes.keys()


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_measured_period_is_the_predicted_one() -> None:
    print(f"seed {SEED}")
    case_list = list(cases(200))
    found = [ratios(case, 24) for case in case_list]
    print(summary(found))
    best = [min(own) for own in found]
    assert abs(statistics.median(best) - 1) <= 0.05
    assert min(best) >= 0.99
