"""A copy is no device work: it is told by what it reads and writes, and left out of what dispatches are measured by."""

from __future__ import annotations

import pytest

from graph import Topology, load, load_text
from graph.copies import computing, copies
from graph.report import report
from graph.resources import holders
from tests.graph.spans import span, trace

COPIED = """
types: {Row: {x: "int64[1]"}, Other: {x: "int64[1]"}}
buffers:
  staged:  {type: Row, place: pinned}
  working: {type: Row, place: device}
  result:  {type: Other, place: pinned}
nodes:
  prepare: {kind: prepare, acquires: [staged], writes: [staged]}
  copy:    {kind: dispatch, acquires: [working], reads: [staged], writes: [working]}
  work:    {kind: dispatch, acquires: [result], reads: [working], writes: [result]}
  give:    {kind: reclaim, reads: [result], emits: results}
  release: {kind: release, releases: [staged, working, result]}
edges:
  prepare -> copy: {carries: [staged]}
  copy -> work:    {carries: [staged, working]}
  work -> give:    {carries: [staged, working, result]}
  give -> release: {carries: [staged, working, result]}
lanes: {host: [prepare], copies: [copy], device: [work], output: [give, release]}
"""


def copied(*overrides: str) -> Topology:
    return load_text(COPIED, overrides=overrides)


def test_a_copy_reads_one_record_and_writes_one_of_its_type_in_another_place() -> None:
    assert copies(copied()) == {"copy"}
    assert computing(copied()) == ("work",)


@pytest.mark.parametrize(
    "override",
    ["buffers.staged.place=device", "buffers.working.type=Other", "nodes.copy.reads=[staged, result]"],
)
def test_what_does_more_than_move_a_record_is_no_copy(override: str) -> None:
    assert "copy" not in copies(copied(override))


def test_the_copies_of_the_shipped_topologies_are_those_of_stream() -> None:
    assert copies(load("pingpong")) == copies(load("latebind")) == set()
    moved = {"copy_in", "copy_in_prompts", "copy_in_retiring", "copy_out", "copy_out_firsts"}
    assert copies(load("stream")) == moved


def test_a_copy_does_not_take_turns_with_the_accelerator() -> None:
    assert holders(copied(), {})["accelerator"] == ("work",)


def test_the_gap_is_between_dispatches_that_compute() -> None:
    """Copies before, between and after them neither shorten nor hide it."""
    spans = [
        firing
        for step in range(3)
        for firing in (
            span("copy", step, 10 * step, 10 * step + 1, lane="copies", device=1),
            span("work", step, 10 * step + 2, 10 * step + 9, lane="device", device=6),
        )
    ]
    source = copied()
    found = report(trace([one._replace(route=next(iter(source.steps_routes()))) for one in spans], source))
    assert found.gap_true is not None
    assert found.gap_py is not None
    assert found.span is not None
    assert (found.gap_true.median, found.gap_py.median, found.span.median) == (4, 3, 7)
