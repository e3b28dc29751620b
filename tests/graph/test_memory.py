from __future__ import annotations

from graph import load
from graph.memory import ITEM_BYTES, by_place, memory
from graph.rules.types import DTYPES
from graph.topology import Topology
from tests.graph.rules.build import made, small


def one(name: str, topology: Topology) -> tuple[str, int, int | None]:
    found = next(found for found in memory(topology) if found.buffer == name)
    return found.place, found.slots, found.slot_bytes


def test_every_dtype_has_the_size_that_torch_gives_it() -> None:
    import torch

    assert {name: getattr(torch, name).itemsize for name in DTYPES} == ITEM_BYTES


def test_a_slot_is_as_large_as_its_fields() -> None:
    assert one("inputs", small()) == ("pinned", 2, 4 * 8 + 4 * 4)


def test_dims_count_as_the_topology_sets_them() -> None:
    assert one("outputs", load("pingpong", ["dims.batch=32"])) == ("pinned", 2, 3 * 32 * 8)


def test_a_tensor_without_dimensions_is_one_element() -> None:
    topology = made(
        types={"T": {"x": "float64[]"}}, buffers={"b": {"type": "T"}}, nodes={"n": {"kind": "bind"}}, lanes={}
    )
    assert one("b", topology) == ("host", 1, 8)


def test_a_persistent_buffer_is_there_once() -> None:
    assert one("state", load("deep")) == ("device", 1, 8 * (4 * 8 + 3 * 4))


def test_what_has_no_tensors_is_not_guessed_and_not_in_the_totals() -> None:
    assert one("caches", load("pingpong"))[2] is None
    assert by_place(memory(load("pingpong"))) == {"pinned": 2 * (480 + 192 + 596 + 24 + 96), "device": 352}


def test_a_host_buffer_that_a_process_lane_uses_is_shared() -> None:
    process = small("buffers.inputs.place=host", "lanes.device.worker=process")
    assert one("inputs", process)[0] == "shared"
    assert one("inputs", small("buffers.inputs.place=host"))[0] == "host"
    assert one("inputs", small("lanes.device.worker=process"))[0] == "pinned"


def test_a_process_lane_that_only_gives_back_does_not_share_the_slots() -> None:
    assert one("inputs", small("buffers.inputs.place=host", "lanes.output.worker=process"))[0] == "host"
