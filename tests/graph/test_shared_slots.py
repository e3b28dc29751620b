"""Where each buffer lives when lanes are in several processes, and what cannot cross is refused with the mend."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from graph import BindError, Executor, Topology, compile, load
from graph.bind import bind
from graph.errors import ResourceLost
from graph.lanes.board import SPARES, Board
from graph.makers import ResourceCounts
from graph.shared_slots import SHARED, SharedPool, allocate_shared, homes, rooms
from graph.slots import FREE
from tests.graph.test_slots import parts


def placed(*lanes: str, **buffers: Any) -> Topology:
    """The parts of the slot tests with these lanes in processes, and these places."""
    source = parts()
    return source.model_copy(
        update={
            "lanes": {
                name: lane.model_copy(update={"worker": "process" if name in lanes else "thread"})
                for name, lane in source.lanes.items()
            },
            "buffers": {
                name: buffer.model_copy(update={"place": buffers.get(name, buffer.place)})
                for name, buffer in source.buffers.items()
            },
        }
    )


@pytest.mark.parametrize(
    ("lanes", "expected"),
    [
        ((), {"inputs": None, "handle": None, "state": None}),
        (("host",), {"inputs": SHARED, "handle": None, "state": None}),
        (("device",), {"inputs": SHARED, "handle": "device", "state": "device"}),
        (("out",), {"inputs": SHARED, "handle": None, "state": None}),
        (("host", "device", "out"), {"inputs": SHARED, "handle": "device", "state": "device"}),
    ],
)
def test_records_are_shared_and_the_rest_lives_where_it_is_used(
    lanes: tuple[str, ...], expected: dict[str, str | None]
) -> None:
    assert homes(placed(*lanes)) == expected


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["lanes.output.worker=process", "nodes.reclaim.reads=[outputs,caches]"], "`caches` is a resource"),
        (["lanes.device.worker=process", "nodes.reclaim.reads=[outputs,state.tail]"], "place=shared"),
    ],
)
def test_what_cannot_cross_is_refused_with_the_file_and_the_mend(overrides: list[str], words: str) -> None:
    topology = load("pingpong", overrides)
    with pytest.raises(BindError) as raised:
        homes(topology)
    lane = overrides[0].split(".")[1]
    assert words in str(raised.value)
    assert f"lanes.{lane}.worker=thread" in str(raised.value)
    assert str(raised.value).startswith(topology.place("buffers", "caches").file)


def board_of(topology: Topology) -> Board:
    return Board(3, 4, rooms(topology, dict(topology.dims)))


def pools_of(topology: Topology, board: Board, here: str | None) -> dict[str, SharedPool]:
    pools = allocate_shared(topology, dict(topology.dims), {"Handle": dict}, "cpu", board, here, print)
    for pool in pools.values():
        pool.open()
    return pools


def test_the_processes_see_the_same_tensors() -> None:
    topology = placed("host", "device")
    board = board_of(topology)
    ours, theirs = pools_of(topology, board, None), pools_of(topology, board, "device")
    for slot in range(2):
        ours["inputs"].slots[slot]["tokens"].fill_(slot + 5)
        assert torch.equal(theirs["inputs"].slots[slot]["tokens"], torch.full((3, 2), slot + 5))
        assert theirs["inputs"].slots[slot]["scale"].sum() == 0
    assert theirs["state"].slots[0]["tail"].shape == (5,)
    assert not ours["state"].is_record  # it is elsewhere
    assert ours["state"].tensors() == []


def test_tenants_are_seen_by_all() -> None:
    topology = placed("host", "device")
    board = board_of(topology)
    ours, theirs = pools_of(topology, board, None), pools_of(topology, board, "host")
    assert [*ours["handle"].tenant] == [FREE] * 3
    ours["handle"].tenant[1] = 4
    assert theirs["handle"].holds(4)
    assert not theirs["handle"].holds(-2)
    assert not theirs["handle"].give_back(1)
    assert [*ours["handle"].tenant] == [FREE] * 3


def test_a_suspect_slot_is_replaced_for_all_who_have_it() -> None:
    topology = placed("device")
    board = board_of(topology)
    ours, theirs = pools_of(topology, board, None), pools_of(topology, board, "device")
    theirs["inputs"].slots[1]["scale"].fill_(7)
    theirs["handle"].slots[0]["mine"] = True
    theirs["inputs"].suspect.add(1)
    theirs["handle"].suspect.add(0)
    assert ours["inputs"].give_back(1)
    assert ours["handle"].give_back(0)
    for pool in theirs.values():
        pool.renew()
    for pools in (ours, theirs):
        assert pools["inputs"].slots[1]["scale"].sum() == 0
        assert pools["inputs"].quarantined[0]["scale"].sum() == 21
    ours["inputs"].slots[1]["scale"].fill_(3)
    assert theirs["inputs"].slots[1]["scale"].sum() == 9
    assert theirs["handle"].slots[0] == {}
    assert theirs["handle"].quarantined == [{"mine": True}]


def test_spare_slots_come_to_an_end() -> None:
    pool = pools_of(placed("host"), board_of(placed("host")), None)["inputs"]
    for _ in range(SPARES):
        pool.suspect.add(0)
        assert pool.give_back(0)
    pool.suspect.add(0)
    assert pool.give_back(0)
    with pytest.raises(ResourceLost, match=r"slot 0 of `inputs`.*no spare one left"):
        pool.content(0)
    assert not pool.give_back(0)
    with pytest.raises(ResourceLost):
        pool.content(0)
    assert pool.content(1) is pool.slots[1]
    assert len(pool.quarantined) == SPARES + 1


def test_resources_are_replaced_without_end_since_they_are_not_in_the_block() -> None:
    """The 65th used to end the run."""
    pool = pools_of(placed("host"), board_of(placed("host")), None)["handle"]
    for _ in range(3 * SPARES):
        pool.suspect.add(0)
        assert pool.give_back(0)
        pool.content(0)
    assert pool.counts() == ResourceCounts(3 + 3 * SPARES, 3 * SPARES, 3 * SPARES, 3)


def test_what_could_not_be_made_anew_is_tried_again_where_it_is_needed() -> None:
    """It used to stay lost for the rest of the run where another process gave it back."""
    topology = placed("device")
    board = board_of(topology)
    calls: list[int] = []

    def fragile() -> dict[str, int]:
        calls.append(len(calls))
        if calls[-1] in (3, 4):
            raise OSError("not now")
        return {"call": calls[-1]}

    ours = pools_of(topology, board, None)
    theirs = allocate_shared(
        topology, dict(topology.dims), {"Handle": fragile}, "cpu", board, "device", print
    )
    theirs["handle"].open()
    ours["handle"].suspect.add(1)
    assert ours["handle"].give_back(1)
    theirs["handle"].renew()
    with pytest.raises(ResourceLost, match=r"slot 1 of `handle` could not be made anew: .*not now"):
        theirs["handle"].content(1)
    assert theirs["handle"].content(1) == {"call": 5}
    assert theirs["handle"].counts() == ResourceCounts(4, 1, 1, 3)


def test_memory_that_cannot_be_had_is_refused() -> None:
    from tests.graph.lanes.acting import nothing
    from tests.graph.lanes.driving import running

    huge = parts(dims={"batch": 1 << 58})
    with pytest.raises(BindError, match="shared memory"):
        running(huge, ["host"], nothing)


# -- the executor ------------------------------------------------------------------------------------------------


def with_factory(factory: Any) -> Executor:
    from tests.graph.lanes.acting import acting, nothing

    executor = acting(load("pingpong"), nothing)
    return Executor(executor.nodes, executor.capabilities, executor.resources, factory=factory)


@pytest.mark.parametrize(
    ("factory", "words"),
    [(None, "cannot make the executor"), (lambda: None, "cannot be pickled")],
)
def test_a_process_needs_a_way_to_make_the_executor(factory: Any, words: str) -> None:
    program = compile(load("pingpong", ["lanes.host.worker=process"]))
    with pytest.raises(BindError, match=words) as raised:
        bind(program, with_factory(factory))
    assert "package.module:callable" in str(raised.value)
    assert "lanes.host.worker=thread" in str(raised.value)
