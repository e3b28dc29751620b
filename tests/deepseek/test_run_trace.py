"""`laneflow run --trace`: the run as a file, which reports say the same of as the table after the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepseek.decode import Dispatch
from graph.cli import main
from graph.report import report
from graph.trace_file import durations, read
from tests.graph.trace_format import open_file

RUN = ("run", "pingpong", "--prompt", "Hello", "--prompt", "you", "--ignore-eos", "--max-tokens")


def test_every_firing_is_in_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    assert main([*RUN, "9", "--trace", str(path)]) == 0
    table = capsys.readouterr().out
    file = open_file(path)
    (trace,) = read(path)
    steps = {span.step for span in trace.spans}
    assert steps == set(range(len(steps)))
    for span in trace.spans:
        members = trace.topology.steps_routes()[span.route]
        assert span.node in members
        assert span.rows  # every step of the engine touches requests
    assert len(trace.spans) == sum(
        len(trace.topology.steps_routes()[route]) for route in {s.step: s.route for s in trace.spans}.values()
    )
    assert {"lane host", "lane device", "lane output", "inputs[0]", "inputs[1]"} <= set(file.tracks.values())
    assert (trace.topology.topology, trace.fallback) == ("pingpong", None)
    assert trace.dims["batch"] == 8
    assert {"laneflow", "python", "torch"} <= trace.versions.keys()
    assert trace.notes["dispatch"]
    found = report(trace, route="decode")
    assert f"{found.prepare_overlap}" in table
    assert set(durations(path, "decode")) == {"prepare", "bind", "dispatch", "reclaim", "release"}


def test_the_report_command_reads_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    main([*RUN, "6", "--trace", str(path)])
    capsys.readouterr()
    assert main(["report", str(path), "--assert", "failed == 0", "dropped == 0", "fallback == 0"]) == 0
    assert "gap_true" in capsys.readouterr().out


def test_a_run_with_a_failure_is_recorded_with_its_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("device on fire")

    monkeypatch.setattr(Dispatch, "run", fails)
    path = tmp_path / "trace.json"
    assert main([*RUN, "6", "--trace", str(path)]) == 1
    (trace,) = read(path)
    assert any("device on fire" in str(span.error) for span in trace.spans)
    assert report(trace).failed > 0


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "no" / "trace.json"
    assert main([*RUN, "6", "--trace", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"laneflow: {path}: cannot be written")
