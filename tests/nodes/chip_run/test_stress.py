"""A thousand short runs of each kind under random delays: order, data, counts, and nothing left behind."""

# ruff: noqa: PT012 - a run is a block, and its end is part of what is tested

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from graph import Runtime, RuntimeStopped
from nodes.chip_run import Run, executor
from nodes.chip_run.driver import Tensors
from tests.fakes import HANG_S, Event, lanes_alive
from tests.graph.firing_order import violations
from tests.nodes.chip_run.driving import (
    CHIP_RUN,
    OVER,
    BookedChip,
    balanced,
    double,
    doubled,
    outcome,
    run_of,
)
from tests.nodes.chip_run.watching import Moment, watched

pytestmark = pytest.mark.usefixtures("hectic")

NODES = ("prepare", "bind", "execute", "complete", "retire")


class Boom(Exception):
    """Ends a run's block."""


class Played:
    """One run under random delays, with what is left to check when it is over."""

    def __init__(self, seed: int, *slow: str) -> None:
        self.source = random.Random(seed)
        self.slow = frozenset(slow)
        """Nodes that are held more often."""
        self.log: list[Event] = []
        self.chip = BookedChip()
        self.at: Moment = lambda node, turn: None
        """What else happens when a node starts."""

    def delay(self, node: str, turn: int) -> None:
        chance = 0.4 if node in self.slow else 0.1
        if self.source.random() < chance:
            time.sleep(self.source.random() * 0.0003)

    def before(self, node: str, turn: int) -> None:
        self.at(node, turn)
        self.delay(node, turn)

    @contextmanager
    def running(self) -> Iterator[Runtime]:
        """The run, with its end and what is checked then."""
        run = Runtime(
            CHIP_RUN,
            watched(executor(self.chip), self.log, self.before, self.delay),
            checked=True,
            queue=12,
            switch_interval_ms=None,
            drain_timeout=HANG_S,
        )
        try:
            with run:
                yield run
        finally:
            self.at_rest(run)

    def at_rest(self, run: Runtime) -> None:
        assert violations(run.program.topology, self.log) == []
        assert (run.held_slots(), run.quarantined) == ([], [])
        assert balanced(run.resources(), live=OVER)
        assert sorted(self.chip.closed_streams) == list(range(self.chip.streams_made)) == [0, 1]
        assert lanes_alive() == []
        self.chip.close()


def concurrent_preparation(seed: int) -> None:
    """Three threads submit at once, while the steps before are prepared, at work and retired."""
    played, tickets = Played(seed, "prepare", "bind"), dict[int, Future[Any]]()

    def submit(first: int) -> None:
        for step in range(first, first + 3):
            played.delay("prepare", step)
            tickets[step] = run.submit(run_of(step))

    resolved: list[int] = []
    with played.running() as run:
        threads = [threading.Thread(target=submit, args=(first,)) for first in (0, 3, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_S)
        for step, ticket in tickets.items():
            ticket.add_done_callback(lambda _, step=step: resolved.append(step))
        assert [outcome(tickets[step]) for step in range(9)] == [2.0 * (step + 1) for step in range(9)]
    assert sorted(resolved) == list(range(9))
    assert [event.step for event in played.log if event.node == "complete" and event.what == "end"] == list(
        range(9)
    )


def concurrent_completion(seed: int) -> None:
    """Results are waited for by three threads and told by callbacks, while further steps complete."""
    played = Played(seed, "execute", "complete", "retire")
    resolved: list[int] = []
    seen: dict[int, float] = {}
    with played.running() as run:
        tickets = [run.submit(run_of(step)) for step in range(4)]
        for step, ticket in enumerate(tickets):
            ticket.add_done_callback(lambda _, step=step: resolved.append(step))

        def wait(first: int) -> None:
            for step in range(first, len(tickets), 3):
                seen[step] = outcome(tickets[step])

        threads = [threading.Thread(target=wait, args=(first,)) for first in range(3)]
        for thread in threads:
            thread.start()
        later = list(run.map(run_of(step) for step in range(4, 8)))
        for thread in threads:
            thread.join(HANG_S)
    assert seen == {step: 2.0 * (step + 1) for step in range(4)}
    assert [doubled(result) for result in later] == [2.0 * (step + 1) for step in range(4, 8)]
    assert resolved == list(range(4))


def shutdown_at_any_moment(seed: int) -> None:
    """By an exception in the block or by `stop` on another thread, after a while or when a node has come to a step."""
    played, tickets = Played(seed), list[Future[Any]]()
    now, source = threading.Event(), random.Random(-seed)
    where = (source.choice(NODES), source.randrange(5))
    if source.random() < 0.5:

        def at(node: str, turn: int) -> None:
            if (node, turn) == where:
                now.set()

        played.at = at
    else:
        threading.Timer(source.random() * 0.003, now.set).start()
    by_stop, cancel = source.random() < 0.5, source.random() < 0.7
    try:
        with played.running() as run:
            if by_stop:
                stopper = threading.Thread(target=lambda: now.wait(HANG_S) and run.stop(cancel=cancel))
                stopper.start()
                with pytest.raises(RuntimeStopped):
                    while True:
                        tickets.append(run.submit(run_of(len(tickets))))
                stopper.join(HANG_S)
            else:
                while not now.is_set():
                    tickets.append(run.submit(run_of(len(tickets))))
                raise Boom
    except Boom:
        assert not by_stop
    found = [ticket.exception(timeout=0) or doubled(ticket.result()) for ticket in tickets]
    done = [value for value in found if not isinstance(value, RuntimeStopped)]
    assert done == [2.0 * (step + 1) for step in range(len(done))]
    assert all(isinstance(value, RuntimeStopped) for value in found[len(done) :])
    if by_stop and not cancel:
        assert len(done) == len(found)


def reuse_of_stream_slots(seed: int) -> None:
    """Twelve runs over two slots: each on its slot's stream, with its own arguments and into its own results."""
    played = Played(seed, "bind", "execute", "retire")
    slots_used: list[tuple[int, int, float]] = []

    def note(arguments: Tensors, results: Tensors) -> None:
        slots_used.append(
            (arguments["values"].data_ptr(), results["values"].data_ptr(), float(arguments["values"][0]))
        )
        double(arguments, results)

    with played.running() as run:
        streams = run.pools["streams"].slots
        uses = [stream.uses for stream in streams]
        results = list(run.map(Run(note, {"values": float(seed + step)}) for step in range(12)))
        assert [doubled(result) for result in results] == [2.0 * (seed + step) for step in range(12)]
        assert [(stream.state, stream.uses) for stream in streams] == [("ready", used + 6) for used in uses]
    assert played.chip.launched == [0, 1] * 6
    assert [value for _, _, value in slots_used] == [float(seed + step) for step in range(12)]
    for slot in (0, 1):
        assert len({(arguments, results) for arguments, results, _ in slots_used[slot::2]}) == 1
    assert slots_used[0][:2] != slots_used[1][:2]


SCENARIOS: list[Callable[[int], None]] = [
    concurrent_preparation,
    concurrent_completion,
    shutdown_at_any_moment,
    reuse_of_stream_slots,
]


def play(scenario: Callable[[int], None], first: int, count: int) -> None:
    for seed in range(first, first + count):
        print("seed", seed)
        scenario(seed)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_some_runs(scenario: Callable[[int], None]) -> None:
    play(scenario, 0, 40)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_thousand_runs(scenario: Callable[[int], None]) -> None:
    play(scenario, 1_000, 1_000)
