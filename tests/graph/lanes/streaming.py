"""Topologies on stream lanes, with probes whose work is on the lane's queue: they note when it really runs."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from graph import Context, Executor, Topology, compile, load
from graph.lanes.queue import Queue
from graph.views import Slots
from tests.fakes import Behaviour, Event, Probe, Probed, nothing


class QueuedProbe(Probe):
    """On a stream lane it launches its behaviour; on any other it is a `Probe`.

    A behaviour gets the step's number in place of the step, which is that of a later call by then.
    """

    def __init__(
        self, name: str, log: list[Event], behave: Behaviour, launches: list[tuple[str, int]]
    ) -> None:
        super().__init__(name, log, behave)
        self.launches = launches
        self.stream: Queue | None = None

    def start(self, context: Context) -> None:
        super().start(context)
        self.stream = context.stream

    def run(self, step: Any, slots: Any) -> Any:
        index, turn = step.index, step._record.turn
        tensors = written(slots)
        if self.stream is None:
            self._work(index, turn, tensors)
        else:
            self.launches.append((self.name, index))
            self.stream.enqueue(lambda: self._work(index, turn, tensors))
        return index

    def _work(self, index: int, turn: int, tensors: list[Any]) -> None:
        self.log.append(Event(self.name, turn, index, "start"))
        try:
            for tensor in tensors:
                tensor.fill_(index)
            self.behave(self.name, index, tensors)
            for tensor in tensors:
                assert (tensor == index).all(), (
                    f"another step wrote to a slot of `{self.name}` of step {index}"
                )
        finally:
            self.log.append(Event(self.name, turn, index, "end"))


def written(slots: Any) -> list[Any]:
    """The tensors of the random topologies, whose nodes write whatever they see, and of none else."""
    inner = getattr(slots, "_slots", slots)
    assert isinstance(inner, Slots), "guarded more than once: nothing would be seen"
    found = [getattr(slots, name) for name in inner._named() if name.startswith("b") and name[1:].isdigit()]
    return [record.x for record in found if record is not None and getattr(record, "x", None) is not None]


class Streamed(Probed):
    """As `Probed`; `launches` has the (node, step) of every launch in order."""

    launches: list[tuple[str, int]]


def streamed(
    topology: Topology | str, lanes: Iterable[str] | None = None, behave: Behaviour = nothing
) -> Streamed:
    """A topology with these lanes on streams, by default all of them."""
    source = load(topology) if isinstance(topology, str) else topology
    chosen = set(source.lanes if lanes is None else lanes)
    source = source.model_copy(
        update={
            "lanes": {
                name: lane.model_copy(update={"worker": "stream"}) if name in chosen else lane
                for name, lane in source.lanes.items()
            }
        }
    )
    log: list[Event] = []
    launches: list[tuple[str, int]] = []
    nodes = {name: QueuedProbe(name, log, behave, launches) for name in source.nodes}
    resources = {name: dict for name, kind in source.types.items() if kind == "resource"}
    executor = Executor(nodes, frozenset(source.requires), resources)
    found = Streamed(compile(source), executor, log)
    found.launches = launches
    return found


def some_lanes(topology: Topology, seed: int) -> list[str]:
    """At least one lane, drawn at random."""
    source = random.Random(seed)
    lanes = list(topology.lanes)
    return source.sample(lanes, source.randint(1, len(lanes)))
