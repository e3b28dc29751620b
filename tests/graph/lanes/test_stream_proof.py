"""What is proved of a stream lane is about completion: on a thread or on a queue, the verdict is the same.

An edge from a node on a stream lane holds back its consumer until the node has completed. "After its launch" can
only be said by a node of its own that launches, from which nothing follows for the work.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from graph import Topology
from graph.diagnostics import Diagnostic, TopologyError
from graph.reading import load
from graph.validate import diagnose
from graph.witness import schedule
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


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_sound_case_runs_on_queues(path: Path) -> None:
    source = load(path)
    drive(streamed(source, None, delayed(3)), 3, 12)
