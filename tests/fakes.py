"""Nodes that note what happens to them and do what a test tells them, for any topology."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from graph import Context, Executor, Ports, Program, Runtime, Topology, compile, load

HANG_S = 30
"""How long a test waits for what must come: far above any delay, so that only a hang exceeds it."""

Behaviour = Callable[[str, Any, Any], Any]
"""What a node does: called with its name, the step and the slots. None as outcome stands for the step's
index."""


class Event(NamedTuple):
    node: str
    turn: int
    step: int
    what: Literal["start", "end"]


class Probe:
    """A node that appends to a common log when its call starts and ends (list.append is atomic)."""

    ports: Ports | None = None

    def __init__(self, name: str, log: list[Event], behave: Behaviour) -> None:
        self.name, self.log, self.behave = name, log, behave
        self.threads: list[int] = []
        self.context: Context | None = None

    def start(self, context: Context) -> None:
        self.context = context
        self.threads.append(threading.get_ident())

    def run(self, step: Any, slots: Any) -> Any:
        turn = step._record.turn
        self.log.append(Event(self.name, turn, step.index, "start"))
        try:
            found = self.behave(self.name, step, slots)
        finally:
            self.log.append(Event(self.name, turn, step.index, "end"))
        return step.index if found is None else found

    def stop(self) -> None:
        self.threads.append(threading.get_ident())


def nothing(node: str, step: Any, slots: Any) -> None:
    """A node without work."""


@dataclass
class Probed:
    """A compiled topology with probes for its nodes."""

    program: Program
    executor: Executor
    log: list[Event] = field(default_factory=list)

    def run(self, **options: Any) -> Runtime:
        return Runtime(self.program, self.executor, **options)

    def calls(self, what: str = "start") -> list[tuple[str, int]]:
        """(node, step) of every call, in order of start or end."""
        return [(event.node, event.step) for event in self.log if event.what == what]


def probed(topology: Topology | str, behave: Behaviour = nothing, **executor: Any) -> Probed:
    """Any topology, or a shipped one by name, with probes that `behave`."""
    source = load(topology) if isinstance(topology, str) else topology
    log: list[Event] = []
    nodes = {name: Probe(name, log, behave) for name in source.nodes}
    resources = {name: dict for name, kind in source.types.items() if kind == "resource"}
    options = {"capabilities": frozenset(source.requires), "resources": resources, **executor}
    return Probed(compile(source), Executor(nodes, **options), log)


def topology(**parts: Any) -> Topology:
    """A topology from its parts, as in a file; lanes may be lists."""
    lanes = {
        name: lane if isinstance(lane, dict) else {"nodes": lane} for name, lane in parts.pop("lanes").items()
    }
    return Topology.model_validate({"topology": "test", **parts, "lanes": lanes})


def chain(*lanes: list[str], **parts: Any) -> Topology:
    """Nodes in the order given, each fed by the one before it; the last one emits."""
    names = [entry.partition("@")[0] for lane in lanes for entry in lane]
    nodes: dict[str, Any] = {name: {"kind": "bind"} for name in names}
    nodes[names[-1]] = {"kind": "reclaim", "emits": "results"}
    edges = {f"{a} -> {b}": {} for a, b in pairwise(names)}
    own = {f"lane{index}": lane for index, lane in enumerate(lanes)}
    return topology(nodes=nodes, edges=edges, lanes=own, **parts)


class Gate:
    """Holds a node until the test lets it go, and tells when the node has come."""

    def __init__(self) -> None:
        self.came, self._open = threading.Event(), threading.Event()

    def pass_through(self) -> None:
        self.came.set()
        assert self._open.wait(HANG_S), "the test never opened the gate"

    def wait(self) -> None:
        assert self.came.wait(HANG_S), "no node has come to the gate"

    def open(self) -> None:
        self._open.set()


def gated(at: str, step: int, gate: Gate) -> Behaviour:
    def behave(node: str, seen: Any, slots: Any) -> None:
        del slots
        if (node, seen.index) == (at, step):
            gate.pass_through()

    return behave


def delayed(seed: int, longest_s: float = 0.0005) -> Behaviour:
    """Random delays, most of them none at all."""
    source = random.Random(seed)

    def behave(node: str, step: Any, slots: Any) -> None:
        del node, step, slots
        if source.random() < 0.3:
            time.sleep(source.random() * longest_s)

    return behave


def lanes_alive() -> list[str]:
    """Names of lane threads that exist in this process."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("laneflow-")]


def until(state: Callable[[], bool], what: str) -> None:
    """Wait for a state that no ticket announces; fails by name where it does not come."""
    end = time.monotonic() + HANG_S
    while not state():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.001)
