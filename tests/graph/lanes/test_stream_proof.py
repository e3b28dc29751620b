"""What is proved of a stream lane is about completion: on a thread or on a queue, the verdict is the same.

An edge from a node on a stream lane holds back its consumer until the node has completed. "After its launch" can
only be said by a node of its own that launches, from which nothing follows for the work.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graph import Context, Executor, Runtime, Step, Topology, compile
from graph.diagnostics import Diagnostic, TopologyError
from graph.lanes.queue import Queue
from graph.mend import mends
from graph.reading import load
from graph.validate import diagnose
from graph.witness import schedule
from nodes import DispatchNode, ReclaimNode
from tests.fakes import delayed
from tests.graph.headers import CASES, expectations
from tests.graph.lanes.streaming import streamed
from tests.graph.lanes.test_stream_order import drive

FILES = sorted(CASES.glob("*.yaml"))
SOUND = [path for path in FILES if expectations(path.read_text()) == [] and not load(path).abstract]
LAUNCH_IS_NOT_COMPLETION = {
    "staging_released_after_launch": ("copy", "staging", "stage"),
    "captured_output_given_back_early": ("copy_out", "captured", "replay"),
    "offsets_released_at_launch": ("copy_in", "host_offsets", "prepare"),
    "shared_event_recorded_again": ("deliver", "copied", "copy_out"),
}


def readable(path: Path) -> Topology | None:
    try:
        return load(path)
    except TopologyError:
        return None


def verdict(found: Iterable[Diagnostic]) -> list[tuple[str, tuple[str, ...], str | None]]:
    return sorted((one.code, one.nodes, one.buffer) for one in found if one.severity != "advice")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_worker_of_a_lane_does_not_change_the_verdict(path: Path) -> None:
    source = readable(path)
    if source is None:
        return  # nothing to run
    found = []
    for worker in ("thread", "stream"):
        lanes = {name: lane.model_copy(update={"worker": worker}) for name, lane in source.lanes.items()}
        found.append(verdict(diagnose(source.model_copy(update={"lanes": lanes}))))
    assert found[0] == found[1] == verdict(diagnose(source))


@pytest.mark.parametrize("name", LAUNCH_IS_NOT_COMPLETION)
def test_a_slot_that_goes_back_after_the_launch_has_a_schedule_that_shows_it(name: str) -> None:
    node, buffer, tenant = LAUNCH_IS_NOT_COMPLETION[name]
    source = load(CASES / f"{name}.fault.yaml")
    (fault,) = (one for one in diagnose(source) if one.severity == "error")
    shown = schedule(source, fault)
    assert (fault.code, fault.nodes[0], fault.buffer) == ("LF205", node, buffer)
    reading = next(firing for firing in shown if (firing.node, firing.step) == (node, 0))
    taking = next(firing for firing in shown if firing.node == tenant and firing.step > 0)
    assert taking.start < reading.end
    assert f"`{node}` of step 0 still" in fault.message


@pytest.mark.parametrize("name", LAUNCH_IS_NOT_COMPLETION)
def test_the_twin_of_such_a_fault_is_the_mend_that_is_proposed(name: str) -> None:
    source, twin = load(CASES / f"{name}.fault.yaml"), load(CASES / f"{name}.sound.yaml")
    (fault,) = (one for one in diagnose(source) if one.severity == "error")
    (mend,), (added,) = mends(source, [fault]), twin.edges.keys() - source.edges.keys()
    assert mend is not None
    assert mend.help == f"add `{added}`"
    with pytest.raises(TopologyError, match="LF205"):
        compile(source)


@dataclass
class Recording:
    """An event, as far as a consumer of it cares: which step's copy it tells of."""

    step: int = -1


class CopyOut(DispatchNode):
    stream: Queue

    def start(self, context: Context) -> None:
        assert context.stream is not None
        self.stream = context.stream

    def run(self, step: Step, slots: Any) -> None:
        event, index = slots.copied, step.index
        self.stream.enqueue(lambda: setattr(event, "step", index))


class Deliver(ReclaimNode):
    """Looks at the event late, as a thread that waits on it may."""

    def __init__(self, delay: random.Random) -> None:
        self.delay = delay

    def run(self, step: Step, slots: Any) -> tuple[int, int]:
        event, before = slots.copied, slots.copied.step
        time.sleep(self.delay.random() * 0.003)
        return before, event.step


@pytest.mark.usefixtures("hectic")
def test_in_the_twin_an_event_tells_of_its_own_steps_copy_as_long_as_it_is_looked_at() -> None:
    seed, made = 5, list[Recording]()
    print("seed", seed)
    source, delay = load(CASES / "shared_event_recorded_again.sound.yaml"), random.Random(seed)
    nodes = dict(streamed(source).executor.nodes)
    nodes |= {"copy_out": CopyOut(), "deliver": Deliver(delay)}

    def event() -> Recording:
        made.append(Recording())
        return made[-1]

    with Runtime(compile(source), Executor(nodes, resources={"Event": event}), checked=True) as run:
        assert list(run.map(range(60))) == [(step, step) for step in range(60)]
    assert len(made) == source.buffers["copied"].slots


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_sound_case_runs_on_queues(path: Path) -> None:
    source = load(path)
    drive(streamed(source, None, delayed(3)), 3, 12)
