"""Stream lanes: results come out in order and every proved wait is kept by what the queue does, not by launches."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graph import Runtime, compile, load
from graph.files import shipped
from nodes.simulated import simulated
from tests.fakes import HANG_S, Gate, chain, delayed, topology, until
from tests.graph.firing_order import violations
from tests.graph.lanes.streaming import Streamed, some_lanes, streamed
from tests.graph.random_topologies import sound
from tests.graph.test_runtime_order import ODD, CountedLock

pytestmark = pytest.mark.usefixtures("nothing_left")

TOPOLOGIES = {name: load(name) for name in shipped() if name != "decode"}


def drive(probes: Streamed, seed: int, steps: int, sporadic: bool = False, checked: bool = True) -> None:
    source, resolved, overflows = random.Random(seed), list[int](), list[str]()
    names = probes.program.topology.steps_routes()
    taken = [source.choice(list(names)) for _ in range(steps)]
    run = probes.run(checked=checked, switch_interval_ms=None)
    for channel, (locks, _) in zip(run.program.channels, run._parts.channels, strict=True):
        locks[:] = [
            CountedLock(lock, overflows, f"{channel.producer} -> {channel.consumer}") for lock in locks
        ]
    with run:
        tickets = []
        for index, route in enumerate(taken):
            tickets.append(run.submit(index, route=route))
            tickets[-1].add_done_callback(lambda _, index=index: resolved.append(index))
            if sporadic and source.random() < 0.3:
                tickets[-1].result(timeout=HANG_S)
        found = [ticket.result(timeout=HANG_S) for ticket in tickets]
    emits = {node for node, declared in run.program.topology.nodes.items() if declared.emits}
    assert found == [i if emits & set(names[route]) else None for i, route in enumerate(taken)]
    assert sorted(probes.calls("end")) == sorted(
        (node, i) for i, route in enumerate(taken) for node in names[route]
    )
    assert violations(run.program.topology, probes.log) == []
    assert (overflows, run.quarantined, run.held_slots()) == ([], [], [])
    assert sorted(resolved) == list(range(steps))


def drive_random(seed: int, count: int) -> None:
    for number, drawn in enumerate(sound(seed, count)):
        own = seed + number
        lanes = some_lanes(drawn, own)
        drive(streamed(drawn, lanes, delayed(own)), own, 25, sporadic=number % 2 == 1, checked=number % 3 > 0)


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("lanes", ["the device's", "all"])
def test_shipped_topologies(name: str, lanes: str) -> None:
    source = TOPOLOGIES[name]
    dispatching = {n for n, node in source.nodes.items() if node.kind == "dispatch"}
    chosen = [
        n for n, lane in source.lanes.items() if lanes == "all" or dispatching & {e.node for e in lane.nodes}
    ]
    for seed in range(2):
        drive(streamed(source, chosen, delayed(seed)), seed, 60, sporadic=seed == 1)


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("seed", [1000, 2000, 3000, 4000])
def test_random_topologies(seed: int) -> None:
    print("seed", seed)
    drive_random(seed, 50)


@pytest.mark.slow
@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("seed", range(10_000, 110_000, 10_000))
def test_many_random_topologies(seed: int) -> None:
    print("seed", seed)
    drive_random(seed, 100)


@pytest.mark.usefixtures("hectic")
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("sporadic", [False, True], ids=["saturated", "sporadic"])
def test_odd_topologies(name: str, sporadic: bool) -> None:
    drive(streamed(ODD[name], None, delayed(5)), 5, 80, sporadic)


def held(gate: Gate, at: str, step: int = 0) -> Any:
    """The work of that call stays on the queue until the gate is opened."""

    def behave(node: str, index: int, tensors: Any) -> None:
        if (node, index) == (at, step):
            gate.pass_through()

    return behave


TWO_SLOTS = topology(
    types={"T": {"x": "int64[1]"}},
    buffers={"b0": {"type": "T", "slots": 2}},
    nodes={
        "prepare": {"kind": "prepare", "acquires": ["b0"], "writes": ["b0"]},
        "dispatch": {"kind": "dispatch", "reads": ["b0"], "writes": ["b0"]},
        "release": {"kind": "release", "releases": ["b0"]},
    },
    edges={"prepare -> dispatch": {"carries": ["b0"]}, "dispatch -> release": {"carries": ["b0"]}},
    lanes={"host": ["prepare"], "device": ["dispatch"], "output": ["release"]},
)


@pytest.mark.parametrize("lanes", [["device"], ["host", "device"], None], ids=["device", "two", "all"])
def test_a_slot_is_not_recycled_before_completion_though_the_launch_has_returned(
    lanes: list[str] | None,
) -> None:
    gate = Gate()
    probes = streamed(TWO_SLOTS, lanes, held(gate, "dispatch"))
    with probes.run(queue=4, checked=True) as run:
        tickets = [run.submit(index) for index in range(4)]
        gate.wait()
        if lanes == ["device"]:  # else its launch waits for `prepare` of step 1 on the other queue alone
            until(
                lambda: ("dispatch", 1) in probes.launches, "the second dispatch is launched behind the first"
            )
        until(lambda: ("prepare", 1) in probes.calls("end"), "the second slot is filled")
        assert ("prepare", 2) not in [*probes.calls(), *probes.launches]
        assert sorted(run.held_slots()) == [("b0", 0), ("b0", 1)]
        gate.open()
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == [None] * 4


def test_entries_of_one_lane_follow_each_other_without_a_wait_of_the_host() -> None:
    gate = Gate()
    probes = streamed(chain(["a", "b", "c"]), None, held(gate, "a"))
    with probes.run() as run:
        ticket = run.submit(0)
        gate.wait()
        until(lambda: probes.launches == [("a", 0), ("b", 0), ("c", 0)], "all are launched behind the first")
        assert probes.calls("end") == []
        gate.open()
        assert ticket.result(timeout=HANG_S) == 0


def test_one_step_is_launched_ahead_and_no_more() -> None:
    gate = Gate()
    probes = streamed(chain(["a"], ["b"]), ["lane1"], held(gate, "b"))
    with probes.run(queue=6) as run:
        tickets = [run.submit(index) for index in range(6)]
        gate.wait()
        until(lambda: len(probes.calls("end")) == 6, "every step waits for the queue")
        until(lambda: ("b", 1) in probes.launches, "one step is launched ahead")
        assert ("b", 2) not in probes.launches
        gate.open()
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == list(range(6))


def test_nodes_of_other_routes_do_not_keep_a_step_from_being_launched_ahead() -> None:
    """`retire`, which decode steps pass, used to wait for `dispatch` as if it were to see its error."""
    gate = Gate()
    probes = streamed("pingpong", ["device"], held(gate, "dispatch"))
    with probes.run() as run:
        tickets = [run.submit(index) for index in range(3)]
        gate.wait()
        until(lambda: ("dispatch", 1) in probes.launches, "the second dispatch is launched behind the first")
        gate.open()
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == [0, 1, 2]


def test_in_flight_counts_what_has_completed() -> None:
    gate = Gate()
    probes = streamed(chain(["a", "b"], in_flight=1), None, held(gate, "b"))
    with probes.run() as run:
        tickets = [run.submit(index) for index in range(2)]
        gate.wait()
        assert ("a", 1) not in probes.launches
        gate.open()
        assert [ticket.result(timeout=HANG_S) for ticket in tickets] == [0, 1]
    assert probes.calls("start") == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_a_lane_on_a_thread_starts_only_after_completion() -> None:
    gate = Gate()
    probes = streamed(chain(["a"], ["b"]), ["lane0"], held(gate, "a"))
    with probes.run() as run:
        ticket = run.submit(0)
        gate.wait()
        assert ("b", 0) not in probes.calls()
        gate.open()
        assert ticket.result(timeout=HANG_S) == 0


def test_streams_and_processes_mix() -> None:
    with mixed("lanes.host.worker=process") as run:
        assert list(run.map(range(20))) == list(range(20))
    with mixed("lanes.output.worker=process") as run:
        assert list(run.map(range(20))) == list(range(20))


def mixed(process: str) -> Runtime:
    source = load("pingpong", [process, "lanes.device.worker=stream"])
    return Runtime(compile(source), simulated(source, dict.fromkeys(source.nodes, 0.0)))


def test_a_topology_of_many_steps_makes_no_thread() -> None:
    import threading

    probes = streamed("pingpong", ["device"])
    with probes.run(record=False) as run:
        list(run.map(range(20)))
        before = {thread.ident for thread in threading.enumerate()}
        assert list(run.map(range(500))) == list(range(20, 520))
        assert {thread.ident for thread in threading.enumerate()} == before
