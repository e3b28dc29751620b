"""The shipped topologies: sound, and each what its summary says."""

from __future__ import annotations

import pytest

from graph import compile, diagnose, load, validate
from graph.copies import copies
from graph.durations import durations_of
from graph.files import shipped
from graph.lanes.stream import LAUNCHED, lookback
from graph.plan import predict
from graph.topology import Topology

BASE = "decode"
NAMES = [name for name in shipped() if name != BASE]
TOPOLOGIES = {name: load(name) for name in NAMES}
DECODING = [name for name, source in TOPOLOGIES.items() if "decode" in source.routes]


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


@pytest.mark.parametrize("name", DECODING)
def test_all_share_nodes_routes_and_row_state_beside_copies(name: str) -> None:
    base, source = load(BASE), TOPOLOGIES[name]
    moved = copies(source)
    assert set(source.nodes) - moved == set(base.nodes)
    assert source.routes.keys() == base.routes.keys()
    for route, nodes in source.routes.items():
        assert tuple(node for node in nodes if node not in moved) == base.routes[route]
    assert source.types["RequestState"] == base.types["RequestState"]


def test_sync_lets_nothing_overlap() -> None:
    source = TOPOLOGIES["sync"]
    decode = source.routes["decode"]
    assert not any(
        overlapping(source, a, b, ahead) for a in decode for b in decode for ahead in (1, 2) if a != b
    )


@pytest.mark.parametrize("name", ["pingpong", "overlap", "deep", "stream"])
def test_pipelined_topologies_prepare_the_next_step_during_dispatch(name: str) -> None:
    assert overlapping(TOPOLOGIES[name], "dispatch", "prepare", 1)
    assert overlapping(TOPOLOGIES[name], "dispatch", "bind", 1)


def test_chip_run_launches_the_next_run_and_retires_the_last_during_a_run() -> None:
    source = TOPOLOGIES["chip_run"]
    assert compile(source).depth == 2
    assert overlapping(source, "execute", "bind", 1)
    assert overlapping(source, "retire", "execute", 1)
    assert source.lanes["device"].worker == "stream"
    assert [entry.node for entry in source.lanes["retirement"].nodes] == ["retire"]


def test_pingpong_reclaims_during_the_next_dispatch() -> None:
    assert overlapping(TOPOLOGIES["pingpong"], "reclaim", "dispatch", 1)


def test_stream_copies_during_the_dispatches_before_and_after() -> None:
    source = TOPOLOGIES["stream"]
    assert overlapping(source, "dispatch", "copy_in", 1)
    assert overlapping(source, "copy_out", "dispatch", 1)
    assert overlapping(source, "prefill", "copy_in_prompts", 1)


def test_stream_leaves_nothing_to_advise() -> None:
    assert diagnose(TOPOLOGIES["stream"]) == []


def test_a_step_of_stream_is_launched_while_the_one_before_it_runs() -> None:
    """No launch on the device lane waits for what the device has yet to do, not even that of a retirement."""
    program = compile(TOPOLOGIES["stream"])
    device = next(lane for lane in program.lanes if lane.name == "device")
    turns = {one.called for one in lookback(device, program.topology, program.graph)}
    assert turns == {LAUNCHED * len(device.ops)}


def test_stream_is_as_fast_as_pingpong() -> None:
    costs = TOPOLOGIES["stream"].costs
    assert costs.items() > TOPOLOGIES["pingpong"].costs.items()
    for name in ("pingpong", "stream"):
        assert predict(TOPOLOGIES[name], durations_of(TOPOLOGIES[name]).times).period == costs["dispatch"]


def test_latebind_binds_only_when_the_last_token_is_known() -> None:
    graph = validate(TOPOLOGIES["latebind"]).graph
    assert graph.before("reclaim", "bind", 1)
    assert overlapping(TOPOLOGIES["latebind"], "reclaim", "prepare", 1)


@pytest.mark.parametrize("name", DECODING)
def test_dispatches_are_in_order_on_one_lane(name: str) -> None:
    device = {"dispatch", "prefill", "retire"}
    lanes = [
        lane for lane in TOPOLOGIES[name].lanes.values() if device & {entry.node for entry in lane.nodes}
    ]
    assert len(lanes) == 1


def test_only_those_without_device_state_need_no_fallback() -> None:
    for source in TOPOLOGIES.values():
        assert ("device_state" in source.requires) == (source.fallback == "sync")
