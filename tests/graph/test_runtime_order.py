"""Results come out in order and every proved wait is kept, whatever the timing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from graph import Topology, load
from graph.files import shipped
from tests.fakes import HANG_S, Probed, chain, delayed, probed, topology
from tests.graph.firing_order import violations
from tests.graph.random_topologies import sound

pytestmark = pytest.mark.usefixtures("nothing_left", "hectic")

TOPOLOGIES = {name: load(name) for name in shipped() if name != "decode"}


class CountedLock:
    """A binary semaphore that says so when a second token is put on it."""

    def __init__(self, lock: Any, faults: list[str], name: str) -> None:
        self.lock, self.faults, self.name = lock, faults, name

    def acquire(self, blocking: bool = True) -> bool:
        return bool(self.lock.acquire(blocking))

    def release(self) -> None:
        if not self.lock.locked():
            self.faults.append(self.name)
        self.lock.release()

    def locked(self) -> bool:
        return bool(self.lock.locked())


def drive(probes: Probed, routes: list[str | None], seed: int, sporadic: bool = False) -> None:
    source, resolved, overflows = random.Random(seed), list[int](), list[str]()
    run = probes.run(checked=True, switch_interval_ms=None)
    for channel, (locks, _) in zip(run.program.channels, run._parts.channels, strict=True):
        locks[:] = [
            CountedLock(lock, overflows, f"{channel.producer} -> {channel.consumer}") for lock in locks
        ]
    with run:
        tickets = []
        for index, route in enumerate(routes):
            ticket = run.submit(index, route=route)
            ticket.add_done_callback(lambda _, index=index: resolved.append(index))
            tickets.append(ticket)
            if sporadic and source.random() < 0.3:
                ticket.result(timeout=HANG_S)
        for ticket in tickets:
            ticket.result(timeout=HANG_S)
    names = run.program.topology.steps_routes()
    taken = [route or next(iter(names)) for route in routes]
    assert sorted(probes.calls("end")) == sorted(
        (node, i) for i, route in enumerate(taken) for node in names[route]
    )
    assert [ticket.result() for ticket in tickets] == [
        i if any(run.program.topology.nodes[node].emits for node in names[route]) else None
        for i, route in enumerate(taken)
    ]
    assert violations(run.program.topology, probes.log) == []
    assert overflows == []
    assert sorted(resolved) == list(range(len(routes)))


def drive_topology(source: Topology, seed: int, steps: int, sporadic: bool = False) -> None:
    drawn = random.Random(seed)
    routes: list[str | None] = [drawn.choice(list(source.steps_routes())) for _ in range(steps)]
    drive(probed(source, delayed(seed)), routes, seed, sporadic)


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("sporadic", [False, True], ids=["saturated", "sporadic"])
def test_shipped_topologies(name: str, sporadic: bool) -> None:
    for seed in range(3):
        drive_topology(TOPOLOGIES[name], seed, 60, sporadic)


@pytest.mark.parametrize("sporadic", [False, True], ids=["saturated", "sporadic"])
@pytest.mark.parametrize("seed", [100, 200])
def test_random_topologies(seed: int, sporadic: bool) -> None:
    print("seed", seed)
    for number, drawn in enumerate(sound(seed, 40)):
        drive_topology(drawn, seed + number, 25, sporadic)


def test_tickets_resolve_in_order_even_where_a_later_step_is_complete_first() -> None:
    """Routes that share no node run side by side; their outcomes wait for each other all the same."""
    import time

    both = topology(
        nodes={"slow": {"kind": "reclaim"}, "fast": {"kind": "reclaim"}},
        lanes={"one": ["slow"], "two": ["fast"]},
        routes={"slow": ["slow"], "fast": ["fast"]},
    )
    probes = probed(both, lambda node, step, slots: time.sleep(0.002) if node == "slow" else None)
    order: list[int] = []
    with probes.run(switch_interval_ms=None) as run:
        for index in range(40):
            ticket = run.submit(index, route="slow" if index % 4 == 0 else "fast")
            ticket.add_done_callback(lambda _, index=index: order.append(index))
    assert order == list(range(40))
    ends = [step for node, step in probes.calls("end")]
    assert ends != sorted(ends)


ODD = {
    "nodes without any edges": topology(
        nodes={name: {"kind": "bind"} for name in "abcd"},
        lanes={"one": ["a", "b"], "two": ["c@2"], "three": ["d"]},
    ),
    "a lane whose entries are all lagged": topology(
        nodes={name: {"kind": "bind"} for name in "abc"},
        edges={"a -> b": {}, "b -> c": {}},
        lanes={"one": ["a"], "two": ["b@2", "c@3"]},
    ),
    "entries on several lanes": topology(
        nodes={name: {"kind": "bind"} for name in "abcde"},
        edges={"a -> e": {}, "b -> e": {}, "c -> e": {}, "e@1 -> d": {}},
        lanes={"one": ["a"], "two": ["b@1"], "three": ["c", "d@1"], "four": ["e@1"]},
    ),
    "a lagged entry before one that is not": topology(
        nodes={name: {"kind": "bind"} for name in "ab"}, lanes={"one": ["a@3", "b"]}
    ),
    "one node": topology(nodes={"a": {"kind": "bind"}}, lanes={"one": ["a"]}),
    "one lagged node": topology(nodes={"a": {"kind": "bind"}}, lanes={"one": ["a@3"]}),
    "one step in flight over three lanes": chain(["a"], ["b"], ["c"], in_flight=1),
    "a step waits for the last one's end": chain(["a"], ["b"], ["c"]).model_copy(
        update={"edges": topology(
            nodes={n: {"kind": "bind"} for n in "abc"},
            edges={"a -> b": {}, "b -> c": {}, "c@1 -> a": {}, "a@2 -> c": {}},
            lanes={"l": ["a"]},
        ).edges}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("sporadic", [False, True], ids=["saturated", "sporadic"])
def test_odd_topologies(name: str, sporadic: bool) -> None:
    drive_topology(ODD[name], 5, 150, sporadic)


def test_map_yields_in_order_and_takes_no_more_than_the_capacity_ahead() -> None:
    taken: list[int] = []

    def commands() -> Any:
        for index in range(60):
            taken.append(index)
            yield index

    with probed("pingpong", delayed(3)).run(switch_interval_ms=None) as run:
        for index, result in enumerate(run.map(commands())):
            assert result == index
            assert len(taken) <= index + 1 + run.capacity


def test_submitters_on_several_threads_get_their_own_results() -> None:
    import threading

    found: dict[int, list[tuple[Any, Any]]] = {}
    probes = probed("overlap", lambda node, step, slots: step.command if node == "bind" else None)
    with probes.run(switch_interval_ms=None) as run:

        def submitter(who: int) -> None:
            tickets = [run.submit((who, i)) for i in range(60)]
            found[who] = [(i, ticket.result(timeout=HANG_S)) for i, ticket in enumerate(tickets)]

        threads = [threading.Thread(target=submitter, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_S)
    results = [result for who in found for _, result in found[who]]
    assert sorted(results) == list(range(240))
    assert all([r for _, r in mine] == sorted(r for _, r in mine) for mine in found.values())
