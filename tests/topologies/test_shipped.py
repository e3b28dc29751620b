"""The shipped topologies: sound, and each what its summary says."""

from __future__ import annotations

import pytest

from graph import diagnose, load, validate
from graph.files import shipped
from graph.topology import Topology

BASE = "decode"
NAMES = [name for name in shipped() if name != BASE]
TOPOLOGIES = {name: load(name) for name in NAMES}


def overlapping(topology: Topology, first: str, second: str, ahead: int) -> bool:
    """Whether `second` may work `ahead` steps after `first` while that is still at work."""
    graph = validate(topology).graph
    return not graph.before(first, second, ahead) and not graph.before(second, first, -ahead)


@pytest.mark.parametrize("name", shipped())
def test_every_file_is_sound(name: str) -> None:
    assert [found for found in diagnose(load(name)) if found.severity == "error"] == []


@pytest.mark.parametrize("name", shipped())
def test_every_file_has_a_summary_and_its_own_name(name: str) -> None:
    source = load(name)
    assert source.topology == name
    assert source.summary.endswith(".")


def test_the_base_is_abstract_and_the_others_are_not() -> None:
    assert load(BASE).abstract
    assert not any(source.abstract for source in TOPOLOGIES.values())


@pytest.mark.parametrize("name", NAMES)
def test_all_share_nodes_routes_and_row_state(name: str) -> None:
    base, source = load(BASE), TOPOLOGIES[name]
    assert set(source.nodes) == set(base.nodes)
    assert source.routes == base.routes
    assert source.types["RequestState"] == base.types["RequestState"]


def test_sync_lets_nothing_overlap() -> None:
    source = TOPOLOGIES["sync"]
    decode = source.routes["decode"]
    assert not any(
        overlapping(source, a, b, ahead) for a in decode for b in decode for ahead in (1, 2) if a != b
    )


@pytest.mark.parametrize("name", ["pingpong", "overlap", "deep"])
def test_pipelined_topologies_prepare_the_next_step_during_dispatch(name: str) -> None:
    assert overlapping(TOPOLOGIES[name], "dispatch", "prepare", 1)
    assert overlapping(TOPOLOGIES[name], "dispatch", "bind", 1)


def test_pingpong_reclaims_during_the_next_dispatch() -> None:
    assert overlapping(TOPOLOGIES["pingpong"], "reclaim", "dispatch", 1)


def test_latebind_binds_only_when_the_last_token_is_known() -> None:
    graph = validate(TOPOLOGIES["latebind"]).graph
    assert graph.before("reclaim", "bind", 1)
    assert overlapping(TOPOLOGIES["latebind"], "reclaim", "prepare", 1)


@pytest.mark.parametrize("name", NAMES)
def test_dispatches_are_in_order_on_one_lane(name: str) -> None:
    device = {"dispatch", "prefill", "retire"}
    lanes = [
        lane for lane in TOPOLOGIES[name].lanes.values() if device & {entry.node for entry in lane.nodes}
    ]
    assert len(lanes) == 1


def test_only_those_without_device_state_need_no_fallback() -> None:
    for source in TOPOLOGIES.values():
        assert ("device_state" in source.requires) == (source.fallback == "sync")
