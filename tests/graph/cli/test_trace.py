"""`laneflow trace merge`: the ranks of a run in one file."""

import json

import pytest

from graph.trace_file import read, write
from tests.graph.spans import steps, trace
from tests.graph.test_report import pipelined
from tests.graph.trace_format import open_file


@pytest.fixture
def ranks(tmp_path):
    for rank in (0, 1):
        write(tmp_path / f"rank{rank}.json", trace(steps(pipelined()), rank=rank))


def test_ranks_are_joined_in_one_file(laneflow, ranks, tmp_path):
    called = laneflow("trace", "merge", "all.json", "rank1.json", "rank0.json")
    assert (called.code, called.err) == (0, "")
    assert called.out == "all.json: 2 ranks, 32 firings\n"
    open_file(tmp_path / "all.json")
    assert [one.process.rank for one in read(tmp_path / "all.json")] == [0, 1]


def test_a_merged_file_is_reported_as_its_parts_are(laneflow, ranks):
    laneflow("trace", "merge", "all.json", "rank0.json", "rank1.json")
    assert laneflow("report", "all.json").out == laneflow("report", "rank0.json", "rank1.json").out


def test_a_merged_file_can_be_merged_further(laneflow, ranks, tmp_path):
    write(tmp_path / "rank2.json", trace(steps(pipelined()), rank=2))
    laneflow("trace", "merge", "two.json", "rank0.json", "rank1.json")
    assert laneflow("trace", "merge", "three.json", "two.json", "rank2.json").code == 0
    assert [one.process.rank for one in read(tmp_path / "three.json")] == [0, 1, 2]


def test_an_existing_file_is_left_alone(laneflow, ranks, tmp_path):
    before = (tmp_path / "rank0.json").read_text()
    called = laneflow("trace", "merge", "rank0.json", "rank1.json")
    assert (called.code, called.out) == (2, "")
    assert "rank0.json exists" in called.err
    assert (tmp_path / "rank0.json").read_text() == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("all.json", "rank0.json", "rank0.json"), "its rank is 0"),
        (("all.json", "gone.json"), "gone.json: cannot be read"),
        (("no/all.json", "rank0.json"), "cannot be written"),
        (("all.json",), "required"),
    ],
)
def test_what_cannot_be_merged_is_told(laneflow, ranks, words, says):
    called = laneflow("trace", "merge", *words)
    assert called.code == 2
    assert says in called.err


def test_no_trace_is_no_input(laneflow, write):
    path = write("other.json", json.dumps({"traceEvents": []}))
    called = laneflow("trace", "merge", "all.json", path)
    assert called.code == 2
    assert "not a trace of laneflow" in called.err
