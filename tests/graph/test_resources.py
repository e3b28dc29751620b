from __future__ import annotations

from fractions import Fraction

from graph.resources import holders, resources
from tests.graph.rules.build import small


def test_host_nodes_on_threads_are_assumed_to_hold_the_interpreter_lock_and_dispatches_the_accelerator() -> (
    None
):
    assert holders(small(), {}) == {"interpreter": ("prepare", "release"), "accelerator": ("dispatch",)}


def test_a_process_lane_has_an_interpreter_of_its_own() -> None:
    process = small("lanes.output.worker=process")
    assert holders(process, {})["interpreter"] == ("prepare",)
    assert holders(process, {"interpreter": ("prepare", "release")})["interpreter"] == ("prepare",)


def test_a_node_on_a_stream_holds_no_interpreter_lock() -> None:
    stream = small("lanes.output.worker=stream")
    assert holders(stream, {})["interpreter"] == ("prepare",)


def test_what_is_stated_takes_the_place_of_the_assumption() -> None:
    held = holders(small(), {"interpreter": (), "disk": ("prepare", "release")})
    assert held == {"interpreter": (), "accelerator": ("dispatch",), "disk": ("prepare", "release")}


def test_a_resource_is_held_for_as_long_as_its_nodes_in_the_route_work() -> None:
    times = {"prepare": Fraction(2), "dispatch": Fraction(3), "release": Fraction(5)}
    held = {"disk": ("prepare", "release"), "net": ("dispatch",)}
    (found,) = resources(held, ["prepare", "release"], times)
    assert (found.name, found.nodes, found.duration) == ("disk", ("prepare", "release"), 7)


def test_nodes_that_take_no_time_hold_nothing() -> None:
    assert resources({"disk": ("prepare",)}, ["prepare"], {"prepare": Fraction(0)}) == ()
