"""laneflow

`pingpong.yaml` of this folder: three lanes, two slots, spans recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.work import Body, Call, Calls, Unavailable, Work
from graph import BindError, Executor, Node, Runtime, Step, Topology, compile, load
from graph.trace import Span
from nodes import DispatchNode, PrepareNode, ReclaimNode, ReleaseNode

TOPOLOGY = Path(__file__).with_name("pingpong.yaml")


class Prepare(PrepareNode):
    def __init__(self, body: Body) -> None:
        self.body = body

    def run(self, step: Step, slots: Any) -> None:
        self.body()


class Device(DispatchNode):
    def __init__(self, body: Body) -> None:
        self.body = body

    def run(self, step: Step, slots: Any) -> None:
        step.device_time(self.body())


class Reclaim(ReclaimNode):
    def __init__(self, body: Body) -> None:
        self.body = body

    def run(self, step: Step, slots: Any) -> None:
        self.body()


def run(work: Work) -> Calls:
    return run_with(work, [])


def run_with(work: Work, overrides: list[str], **options: Any) -> Calls:
    """As `run`, with values of the topology overridden, or with options of `Runtime`."""
    program = compile(topology(work, overrides))
    with Runtime(program, executor(work), queue=work.steps, **options) as running:
        for step in range(work.steps):
            running.submit(step)
    return calls_of(running.spans())


@contextmanager
def where_it_binds() -> Iterator[None]:
    """For a peer that asks of the machine what not every one has."""
    try:
        yield
    except BindError as error:
        raise Unavailable(str(error)) from error


def topology(work: Work, overrides: list[str]) -> Topology:
    """With as many slots as the work keeps."""
    slots = [f"buffers.{buffer}.slots={work.slots}" for buffer in ("inputs", "outputs")]
    return load(str(TOPOLOGY), [*slots, *overrides])


def executor(work: Work) -> Executor:
    """The bodies as nodes; a lane in another process makes its own."""
    nodes: dict[str, Node] = {
        "prepare": Prepare(work.prepare),
        "dispatch": Device(work.device),
        "reclaim": Reclaim(work.reclaim),
        "release": ReleaseNode(),
    }
    return Executor(nodes, factory=partial(executor, work))


def calls_of(spans: Iterable[Span]) -> Calls:
    """From the spans of a run."""
    calls = Calls()
    lists = {"prepare": calls.prepare, "dispatch": calls.device, "reclaim": calls.reclaim}
    for span in spans:
        if span.node in lists:
            lists[span.node].append(Call(span.start, span.end, max(span.device, 0)))
    return calls
