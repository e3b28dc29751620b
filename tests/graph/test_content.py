"""A topology as data: nothing that a file can say is lost."""

import json

import pytest

from graph import Topology, load
from graph.content import content
from graph.files import shipped
from graph.order import marked_graph
from tests.graph.random_topologies import sound


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_topology_comes_back_from_its_content(name: str) -> None:
    topology = load(name)
    back = Topology.model_validate(json.loads(json.dumps(content(topology))))
    for part in Topology.model_fields:
        assert getattr(back, part) == getattr(topology, part), part


def test_random_topologies_come_back_with_the_same_waits() -> None:
    for topology in sound(seed=11, count=50):
        back = Topology.model_validate(json.loads(json.dumps(content(topology))))
        assert content(back) == content(topology)
        assert marked_graph(back).arcs == marked_graph(topology).arcs


def test_overrides_are_in_the_content() -> None:
    assert content(load("pingpong", ["buffers.inputs.slots=3"]))["buffers"]["inputs"]["slots"] == 3


def test_what_is_said_with_signs_is_text() -> None:
    found = content(load("overlap"))
    assert "reclaim@1" in found["lanes"]["host"]["nodes"]
    assert "prepare -> bind" in found["edges"]
    assert found["types"]["DecodeInputs"]["rows"] == "int64[batch]"
    assert "inputs.rows" in found["nodes"]["prepare"]["writes"]
