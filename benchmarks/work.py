"""What every peer is given and what it gives back: three bodies to run as a pipeline, and when each call ran.

A peer is a module of `benchmarks.peers` with one function, `run(work) -> Calls`. For every step it calls `prepare`,
then `device`, then `reclaim`, each of them once and in order of the steps, and keeps `work.slots` slots: `prepare`
of step k starts when `reclaim` of step k - slots is through. Within that it overlaps what it can. `check` holds
the peer to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter_ns
from typing import NamedTuple

Body = Callable[[], int]
"""Works, and returns how long the device itself took, in nanoseconds; 0 where there is no device."""


class Call(NamedTuple):
    """One call of a body: `time.perf_counter_ns` around it, and what it returned."""

    start: int
    end: int
    own: int


@dataclass(frozen=True)
class Work:
    """The bodies can be pickled."""

    prepare: Body
    device: Body
    reclaim: Body
    steps: int
    slots: int = 2


@dataclass
class Calls:
    """The calls of each body in order of the steps. Any tuple with the fields of a `Call` will do."""

    prepare: list[Call] = field(default_factory=list)
    device: list[Call] = field(default_factory=list)
    reclaim: list[Call] = field(default_factory=list)


class Unavailable(Exception):
    """The peer cannot run here, for the reason that is its text."""


def timed(body: Body, calls: list[Call]) -> None:
    """Call the body and append when."""
    start = perf_counter_ns()
    own = body()
    calls.append((start, perf_counter_ns(), own))  # type: ignore[arg-type]  # a plain tuple is cheaper to make


def check(calls: Calls, work: Work) -> list[str]:
    """What the peer did not keep to; one line for each kind of breach, with the first step that has it."""
    stages = {"prepare": calls.prepare, "device": calls.device, "reclaim": calls.reclaim}
    found = [
        f"{len(own)} calls of {name} for {work.steps} steps"
        for name, own in stages.items()
        if len(own) != work.steps
    ]
    if found:
        return found
    for name, own in stages.items():
        found += _first(
            f"{name} starts before that of the step before is through",
            [one[1] > other[0] for one, other in pairwise(own)],
            1,
        )
    for (name, own), (after, following) in pairwise(stages.items()):
        found += _first(
            f"{after} starts before {name} of its step is through",
            [one[1] > other[0] for one, other in zip(own, following, strict=True)],
            0,
        )
    freed = zip(calls.reclaim, calls.prepare[work.slots :], strict=False)
    found += _first(
        f"more than {work.slots} slots in use", [one[1] > other[0] for one, other in freed], work.slots
    )
    return found


def _first(breach: str, broken: list[bool], offset: int) -> list[str]:
    return [f"{breach}, first at step {broken.index(True) + offset}"] if any(broken) else []
