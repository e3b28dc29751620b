from __future__ import annotations

import math
from itertools import pairwise

from graph import Topology, compile, load
from graph.order import marked_graph
from graph.order_difference import Guarantee, Wait, guarantees, waits
from tests.graph.random_topologies import sound
from tests.graph.rules.build import small


def compared(first: Topology, second: Topology) -> list[Guarantee]:
    return guarantees(marked_graph(first), marked_graph(second), {})


def least(topology: Topology, before: str, after: str) -> int | None:
    """The least offset at which the order is guaranteed, by asking for one after the other."""
    graph = marked_graph(topology)
    if math.isinf(graph.distance(before, after)):
        return None
    return next(n for n in range(-2000, 2000) if graph.before(before, after, n))


def test_every_pair_whose_guarantee_differs_is_told_with_both_offsets() -> None:
    first, second = load("pingpong"), load("overlap")
    expected = {
        (a, b, least(first, a, b), least(second, a, b))
        for a in first.nodes
        for b in first.nodes
        if a != b and least(first, a, b) != least(second, a, b)
    }
    assert {one[:4] for one in compared(first, second)} == expected


def test_more_slots_weaken_and_fewer_strengthen() -> None:
    more = compared(small(), small("buffers.inputs.slots=3"))
    fewer = compared(small(), small("buffers.inputs.slots=1"))
    assert more
    assert not any(one.gained for one in more)
    assert all(one.gained for one in fewer)


def test_what_follows_from_another_is_marked_and_comes_last() -> None:
    found = compared(small(), small("buffers.inputs.slots=3"))
    assert found[0] == Guarantee("release", "prepare", 2, 3, False)
    assert [one.implied for one in found] == sorted(one.implied for one in found)
    assert all(one.implied for one in found[1:])


def test_where_anything_differs_something_is_not_implied() -> None:
    drawn = [one for one in sound(31, 120) if len(one.nodes) == 4]
    differing = 0
    for first, second in pairwise(drawn):
        found = compared(first, second)
        assert not found or not found[0].implied
        differing += bool(found)
    assert differing > 3


def test_an_order_that_one_never_gives() -> None:
    free = small("edges.dispatch -> late={}", "nodes.late={kind: bind}", "lanes.spare=[late]")
    tied = small(
        "edges.dispatch -> late={}",
        "nodes.late={kind: bind}",
        "lanes.spare=[late]",
        "edges.late@1 -> dispatch={}",
    )
    gained = {(one.before, one.after): one for one in compared(free, tied)}
    assert gained["late", "dispatch"] == Guarantee("late", "dispatch", None, 1, False)
    assert gained["late", "dispatch"].gained


def test_nodes_of_one_topology_alone_are_left_out() -> None:
    added = small("nodes.late={kind: bind}", "lanes.spare=[late]")
    assert compared(small(), added) == []


def test_waits_that_survive_the_reduction_are_kept_dropped_or_added() -> None:
    found = waits(compile(small()), compile(small("buffers.inputs.slots=3")))
    assert found.kept == {
        Wait("prepare", "dispatch", 0): "edge `prepare -> dispatch`",
        Wait("dispatch", "release", 0): "edge `dispatch -> release`",
    }
    assert found.dropped == {Wait("release", "prepare", 2): "2 slots of `inputs`"}
    assert found.added == {Wait("release", "prepare", 3): "3 slots of `inputs`"}


def test_a_wait_keeps_its_place_where_a_lag_moves_its_turn() -> None:
    lagged = small("lanes.output=[release@1]")
    assert set(waits(compile(small()), compile(lagged)).kept) >= {Wait("dispatch", "release", 0)}
