"""`laneflow report`: tables and figures from trace files, assertions for CI, before and after."""

import json

import pytest

from graph.report import report
from graph.trace_file import write
from tests.graph.spans import steps, trace
from tests.graph.test_report import pipelined, synchronous


@pytest.fixture
def recorded(tmp_path):
    """`recorded("a.json", pipelined())` writes a trace into the working directory."""

    def call(name, times, **other):
        made = trace(steps(times), **other)
        write(tmp_path / name, made)
        return made

    return call


def test_the_table_has_all_that_there_is_to_know(laneflow, recorded):
    recorded("run.json", pipelined())
    called = laneflow("report", "run.json")
    assert (called.code, called.err) == (0, "")
    for words in (
        "test, route decode: 4 steps",
        "period",
        "gap_py",
        "gap_true",
        "not measured",
        "node prepare",
        "prepare(k+1) over before dispatch(k) ends  3 of 3 (100%)",
        "predicted period 9.000 ms, set by: device lane is full: dispatch",
        "measured over predicted 1.111",
        "waited for",
    ):
        assert words in called.out


def test_json_has_the_figures_by_the_names_that_assertions_use(laneflow, recorded):
    made = recorded("run.json", pipelined())
    called = laneflow("report", "run.json", "--json")
    data = json.loads(called.out)
    assert data["figures"]["gap.median_ms"] == 1
    assert data["figures"]["gap_true.median_ms"] is None
    assert (data["topology"], data["route"], data["ranks"], data["fallback"]) == ("test", "decode", [0], None)
    assert len(data["waiting"]) == len(report(made).waiting) > 0
    assert {"lane", "node", "reason", "for_node", "total_ms", "longest_ms", "count"} <= data["waiting"][
        0
    ].keys()
    for name in data["figures"]:
        asserted = laneflow("report", "run.json", "--assert", f"{name} >= -1000")
        assert asserted.code == (1 if data["figures"][name] is None else 0), name


def test_assertions_that_hold_exit_with_zero(laneflow, recorded):
    recorded("run.json", pipelined())
    called = laneflow("report", "run.json", "--assert", "overlap.prepare == 1", "gap.median_ms < 1.5")
    assert (called.code, called.err) == (0, "")


def test_every_assertion_that_fails_is_named_with_its_value_and_the_report_is_still_shown(laneflow, recorded):
    recorded("run.json", synchronous())
    called = laneflow(
        "report",
        "run.json",
        "--assert",
        "overlap.prepare == 1",
        "steps == 4",
        "--assert",
        "gap.median_ms < 0.4",
    )
    assert called.code == 1
    assert called.err.splitlines() == [
        "laneflow: overlap.prepare == 1 fails: overlap.prepare is 0",
        "laneflow: gap.median_ms < 0.4 fails: gap.median_ms is 3",
    ]
    assert "period" in called.out


def test_what_was_not_measured_fails_an_assertion(laneflow, recorded):
    recorded("run.json", pipelined())
    called = laneflow("report", "run.json", "--assert", "gap_true.median_ms < 100")
    assert called.code == 1
    assert "gap_true.median_ms was not measured" in called.err


@pytest.mark.parametrize(
    ("assertion", "says"),
    [("gap.medan_ms < 1", "did you mean `gap.median_ms`?"), ("gap.median_ms", "FIGURE OP NUMBER")],
)
def test_an_assertion_that_cannot_be_understood_is_wrong_usage(laneflow, recorded, assertion, says):
    recorded("run.json", pipelined())
    called = laneflow("report", "run.json", "--assert", assertion)
    assert (called.code, called.out) == (2, "")
    assert says in called.err


def test_another_route_can_be_reported(laneflow, recorded):
    times = pipelined()
    times[2] = [("other", 20, 29, {"route": "prefill"})]
    recorded("run.json", times)
    assert "route prefill: 1 steps" in laneflow("report", "run.json", "--route", "prefill").out
    called = laneflow("report", "run.json", "--route", "prefil")
    assert called.code == 2
    assert "no route `prefil`; `test` has decode, prefill" in called.err


def test_two_runs_are_compared_and_assertions_are_about_the_new_one(laneflow, recorded):
    recorded("old.json", synchronous())
    recorded("new.json", pipelined())
    called = laneflow("report", "--compare", "old.json", "new.json", "--assert", "overlap.prepare == 1")
    assert called.code == 0
    assert "-66.7%" in called.out
    data = json.loads(laneflow("report", "--compare", "old.json", "new.json", "--json").out)
    assert data["before"]["figures"]["gap.median_ms"] == 3
    assert data["after"]["figures"]["gap.median_ms"] == 1


def test_several_files_are_the_ranks_of_one_run(laneflow, recorded):
    recorded("zero.json", pipelined())
    recorded("one.json", pipelined(), rank=1)
    called = laneflow("report", "one.json", "zero.json")
    assert called.code == 0
    assert "ranks 0, 1" in called.out
    assert "skew between ranks" in called.out


def test_two_files_of_one_rank_are_refused(laneflow, recorded):
    recorded("old.json", synchronous())
    recorded("new.json", pipelined())
    called = laneflow("report", "old.json", "new.json")
    assert called.code == 2
    assert "--compare OLD NEW" in called.err


def test_figures_lists_the_names(laneflow):
    called = laneflow("report", "--figures")
    assert called.code == 0
    assert "overlap.prepare" in called.out
    assert "* is one of median_ms, p95_ms, p99_ms, max_ms" in called.out


@pytest.mark.parametrize("words", [(), ("gone.json",), ("a.json", "--compare", "a.json", "a.json")])
def test_wrong_usage_is_told(laneflow, words):
    called = laneflow("report", *words)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("laneflow: ")


def test_a_topology_that_is_no_longer_sound_is_told(laneflow, recorded, tmp_path):
    recorded("run.json", pipelined())
    path = tmp_path / "run.json"
    document = json.loads(path.read_text())
    document["metadata"]["laneflow"]["processes"][0]["topology"]["edges"]["ghost -> dispatch"] = {}
    path.write_text(json.dumps(document))
    called = laneflow("report", "run.json")
    assert called.code == 2
    assert "LF003" in called.err
