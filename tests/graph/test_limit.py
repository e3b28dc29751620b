from __future__ import annotations

from graph import load
from graph.durations import durations_of
from graph.limit import Limit
from graph.plan import predict
from graph.topology import Topology
from tests.graph.rules.build import small

ALONE = {"interpreter": (), "accelerator": ()}


def limit(topology: Topology) -> Limit:
    return predict(topology, durations_of(topology).times, stated=ALONE).limit


def test_a_full_lane() -> None:
    assert limit(load("pingpong")) == Limit("lane", "device lane is full: dispatch", ("dispatch",))


def test_a_full_lane_of_several_nodes() -> None:
    assert limit(load("sync")).text == "main lane is full: prepare + dispatch + reclaim"


def test_slots() -> None:
    found = limit(small("costs={prepare: 4, dispatch: 5, release: 4}"))
    assert found == Limit(
        "cycle",
        "2 slots of `inputs`: prepare + dispatch + release every 2 steps",
        ("prepare", "dispatch", "release"),
    )


def test_one_slot() -> None:
    found = limit(small("costs={prepare: 4, dispatch: 5, release: 4}", "buffers.inputs.slots=1"))
    assert found.text == "1 slot of `inputs`: prepare + dispatch + release"


def test_an_edge_from_the_step_before() -> None:
    assert limit(load("latebind")).text == "edge `reclaim@1 -> bind`: dispatch + reclaim"


def test_in_flight() -> None:
    found = limit(small("costs={prepare: 4, dispatch: 5, release: 4}", "in_flight=1"))
    assert found.text == "`in_flight: 1`: prepare + dispatch + release"


def test_the_order_of_a_lane_that_a_step_visits_twice() -> None:
    found = limit(
        small(
            "costs={prepare: 4, dispatch: 5, release: 4}",
            "lanes.host=[prepare, release]",
            "lanes.output=null",
        )
    )
    assert found.text == "the order of lane host: prepare + dispatch + release"


def test_a_full_lane_is_told_rather_than_a_cycle_that_is_as_long() -> None:
    found = limit(small("costs={prepare: 4, dispatch: 8, release: 4}"))
    assert found.text == "device lane is full: dispatch"


def test_an_edge_is_told_rather_than_slots_that_hold_as_much() -> None:
    edge = "edges.release@1 -> prepare={}"
    found = limit(small("costs={prepare: 4, dispatch: 5, release: 4}", "buffers.inputs.slots=1", edge))
    assert found.text == "edge `release@1 -> prepare`: prepare + dispatch + release"


def test_nothing() -> None:
    assert limit(small()) == Limit("nothing", "no node takes time", ())
