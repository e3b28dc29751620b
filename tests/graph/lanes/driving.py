"""Runs with lanes in processes, and what is left of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from graph import Runtime, Topology, compile
from graph.trace import Span
from tests.fakes import Event
from tests.graph.lanes.acting import Act, acting

NAMES: list[str] = []
"""Of all semaphores of runs made here, since somebody cleared it."""


def with_processes(topology: Topology, lanes: Iterable[str]) -> Topology:
    """The topology with these lanes in processes."""
    changed = {
        name: lane.model_copy(update={"worker": "process" if name in lanes else "thread"})
        for name, lane in topology.lanes.items()
    }
    return topology.model_copy(update={"lanes": changed})


def running(topology: Topology, lanes: Iterable[str], act: Act, data: Any = None, **options: Any) -> Runtime:
    """A run of the topology with these lanes in processes."""
    source = with_processes(topology, set(lanes))
    run = Runtime(compile(source), acting(source, act, data), **options)
    assert run._processes is not None
    semaphores: list[Any] = [ring[0][0] for ring in run._processes.rings.values()]
    NAMES.extend(semaphore._semlock.name for semaphore in semaphores)
    return run


def names_left(names: Iterable[str]) -> list[str]:
    """Of names of semaphores, those that the system still has."""
    return [name for name in names if Path(f"/dev/shm/sem.{name.removeprefix('/')}").exists()]


def events(spans: Iterable[Span]) -> list[Event]:
    """Starts and ends of all calls, of whatever process, in order: all processes share the clock."""
    found = []
    for span in spans:
        found.append((span.start, Event(span.node, span.turn, span.step, "start")))
        found.append((span.end, Event(span.node, span.turn, span.step, "end")))
    return [event for _, event in sorted(found, key=lambda one: one[0])]


def alive(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children() -> list[int]:
    """Spawned processes of this one, without the tracker that multiprocessing keeps."""
    found = psutil.Process(os.getpid()).children(recursive=True)
    return [one.pid for one in found if alive(one.pid) and "spawn_main" in " ".join(one.cmdline())]
