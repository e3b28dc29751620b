"""`laneflow run stream` as a user meets it: the text of `pingpong`, and a report whose dispatches are decode steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph.cli import main
from graph.report import report
from graph.trace_file import read

WORDS = ("--prompt", "The lanes of", "--prompt", "a", "--max-tokens", "24", "--ignore-eos")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["run", *words, *WORDS, "--json"]) == 0
    return capsys.readouterr().out


def test_the_text_is_that_of_pingpong_and_any_lane_may_be_a_thread(
    capsys: pytest.CaptureFixture[str],
) -> None:
    expected = printed(capsys, "pingpong")
    assert printed(capsys, "stream", "--checked") == expected
    assert printed(capsys, "stream", "lanes.device.worker=thread") == expected


@pytest.mark.slow
@pytest.mark.parametrize("drafts", ["0", "2", "3"])
def test_drafts_change_nothing(capsys: pytest.CaptureFixture[str], drafts: str) -> None:
    assert printed(capsys, "stream", "--mtp", drafts) == printed(capsys, "pingpong", "--mtp", drafts)


def test_the_report_is_of_decode_steps_by_the_queues_clock(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    assert main(["run", "stream", *WORDS, "--device-time", "20", "--trace", str(path)]) == 0
    table = capsys.readouterr().out
    assert "gap_true" in table
    (trace,) = read(path)
    found = report(trace, route="decode")
    assert found.gap_true is not None
    assert found.gap_true.median == 0  # launched ahead: the queue goes from step to step
    assert found.nodes["dispatch"] is not None
    assert found.span == found.nodes["dispatch"]
    assert found.span.median >= 20
    dispatches = [span for span in trace.spans if span.node == "dispatch"]
    assert all(span.device == span.end - span.start for span in dispatches)
