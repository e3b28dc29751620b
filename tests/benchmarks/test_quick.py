"""The whole benchmark in a few seconds: every peer has figures, or a reason why not."""

import json

import pytest

from benchmarks import __main__ as bench
from benchmarks import install, overhead, validation
from benchmarks.rounds import Results, all_peers
from benchmarks.workloads import WORKLOADS

PEERS = ("threads", "laneflow", "laneflow_stream", "laneflow_processes", "dask")
"""One of each kind, and one that needs to be installed."""


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    bench.main(["--quick", "--peers", *PEERS, "--out", str(out)])
    return json.loads((out / "peers.json").read_text()), (out / "peers.md").read_text()


def test_every_peer_has_calls_on_every_workload_or_a_reason(quick):
    told, _ = quick
    assert [block["workload"]["name"] for block in told["workloads"]] == bench.QUICK_WORKLOADS
    available = set(PEERS) - set(told["unavailable"])
    assert {"threads", "laneflow"} <= available
    assert {(run["peer"], run["workload"]) for run in told["runs"]} == {
        (peer, name) for peer in available for name in bench.QUICK_WORKLOADS
    }
    assert all(told["unavailable"].values())


def test_the_floor_is_looked_at_before_each_round(monkeypatch, tmp_path):
    gaps = iter((59.4, 386.0))
    monkeypatch.setattr(bench, "bare_gap_us", lambda milliseconds: next(gaps))
    monkeypatch.setattr(bench, "lost_pages", lambda milliseconds, slow_us: 0.5)
    bench.main(["--rounds", "2", "--workloads", "W3", "--peers", "sequential", "--out", str(tmp_path)])
    told = (tmp_path / "peers.md").read_text()
    assert "gap_true of 45 ms calls in a bare loop before each round 59 386 us" in told
    assert "of pages left alone for 45 ms 0.50 0.50 % take over 20 us to touch" in told


def test_every_run_keeps_to_the_contract_and_has_all_its_calls(quick):
    told, _ = quick
    assert told["failed"] == []
    for run in told["runs"]:
        assert {name: len(calls) for name, calls in run["calls"].items()} == dict.fromkeys(
            ("prepare", "device", "reclaim"), bench.QUICK_STEPS
        )


def test_each_row_has_figures_and_what_they_are_compared_with(quick):
    told, _ = quick
    for block in told["workloads"]:
        for row in block["rows"]:
            assert row["rounds"] == 1
            assert row["to_reference"] > 0
            assert (row["to_bound"] is None) == (block["bound_ms"] == 0)
        reference = next(row for row in block["rows"] if row["peer"] == "threads")
        assert reference["to_reference"] == 1


def test_the_table_names_the_machine_every_peer_and_every_reason(quick):
    told, text = quick
    assert told["machine"]["processor"] in text
    assert told["machine"]["load"] in text
    titles = all_peers()
    for peer in PEERS:
        assert titles[peer] in text
        assert told["unavailable"].get(peer, "") in text


def test_a_run_that_breaks_off_is_told_and_has_no_figures(monkeypatch):
    from benchmarks import rounds

    monkeypatch.setattr(rounds, "LIMIT_S", 0.01)
    found = rounds.run([WORKLOADS["W3"]], ["sequential"], 1, lambda workload: 12, lambda line: None)
    assert found.failed == ["sequential on W3, round 1: no end after 0.01 s"]
    assert found.runs == Results().runs == {}


def test_a_peer_that_could_not_be_installed_gets_pips_reason(monkeypatch):
    from benchmarks import rounds

    monkeypatch.setattr(
        rounds, "_fresh", lambda *words: json.dumps({"unavailable": "No module named 'dask'"})
    )
    monkeypatch.setattr(rounds, "reasons", lambda: {"dask": "ERROR: no matching distribution"})
    found = rounds.run([WORKLOADS["W3"]], ["dask", "pypeln"], 1, lambda workload: 12, lambda line: None)
    assert found.unavailable == {
        "dask": "ERROR: no matching distribution",
        "pypeln": "No module named 'dask'",
    }


def test_each_requirement_of_the_extra_belongs_to_a_peer():
    names = [install.name_of(requirement) for requirement in install.requirements()]
    assert {install.PEERS.get(name, name) for name in names} <= set(all_peers())
    assert {"dask", "pypeln", "ray", "torchdata"} <= set(names)


def test_the_overhead_is_measured_fitted_and_drawn(tmp_path):
    overhead.main(["--nodes", "6", "--steps", "20", "--rounds", "1", "--out", str(tmp_path)])
    told = json.loads((tmp_path / "overhead.json").read_text())
    assert {(one["nodes"], one["lanes"]) for one in told["points"]} == {
        (3, 1),
        (3, 2),
        (3, 3),
        (6, 1),
        (6, 2),
        (6, 3),
        (6, 4),
    }
    assert set(told["fit"]) == {"constant", "crossing", "node", "slot", "median_residual"}
    assert (tmp_path / "overhead.svg").read_text().count("</text>") > 5
    assert (tmp_path / "overhead.png").read_bytes().startswith(b"\x89PNG")


def test_the_time_of_a_proof_is_measured_by_size(tmp_path):
    validation.main(["--nodes", "30", "60", "--repeats", "1", "--out", str(tmp_path)])
    told = json.loads((tmp_path / "validation.json").read_text())
    assert list(told["milliseconds"]) == ["30", "60"]
    assert all(set(times) == {"prove", "compile"} for times in told["milliseconds"].values())
