"""The topologies that are measured are what they are said to be."""

import pytest

from benchmarks.chains import chain, decode_row
from benchmarks.line_chart import Curve, line_chart
from graph import compile, diagnose
from graph.draw import svg


@pytest.mark.parametrize(("nodes", "lanes"), [(3, 1), (3, 3), (6, 4), (24, 8)])
def test_a_chain_in_parts_crosses_once_between_neighbours_and_once_back(nodes, lanes):
    program = compile(chain(nodes, lanes))
    assert [len(lane.ops) > 0 for lane in program.lanes] == [True] * lanes
    assert len(program.channels) == (lanes if lanes > 1 else 0)


def test_a_scattered_chain_crosses_at_every_edge():
    assert len(compile(chain(12, 3, scattered=True)).channels) >= 11


def test_a_chain_takes_a_slot_of_every_buffer():
    topology = chain(6, 2, buffers=4, slots=3)
    assert topology.nodes["n0"].acquires == topology.nodes["n5"].releases == ("b0", "b1", "b2", "b3")
    assert {buffer.slots for buffer in topology.buffers.values()} == {3}


@pytest.mark.parametrize("nodes", [5, 30, 60])
def test_a_row_of_decode_steps_has_that_many_nodes_and_is_sound(nodes):
    topology = decode_row(nodes)
    assert len(topology.nodes) == nodes
    assert [found for found in diagnose(topology) if found.severity == "error"] == []


def test_a_chart_names_each_curve_and_both_axes():
    scene = line_chart([Curve("one", [(1, 2), (3, 4)]), Curve("two", [(1, 5)])], "Title", "across", "up")
    drawn = svg.render(scene)
    assert all(f">{word}</text>" in drawn for word in ("one", "two", "Title", "across", "up"))
