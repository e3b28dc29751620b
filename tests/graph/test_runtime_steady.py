"""The steady loop makes no thread and keeps nothing: a run of any length needs the memory of a short one."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import pytest

from graph.runtime import Runtime
from tests.fakes import HANG_S, probed
from tests.graph.test_runtime_bubbles import lagging

pytestmark = pytest.mark.usefixtures("nothing_left")

STEPS = 20_000


def drive(run: Runtime, steps: int, sporadic: bool = False) -> None:
    for index, result in enumerate(run.map(range(steps))):
        del index, result
        if sporadic:
            continue


@pytest.mark.parametrize("name", ["pingpong", "sync"])
def test_memory_is_flat_over_many_steps(name: str) -> None:
    probes = probed(name)
    probes.log = []  # the probes' own log is not the run's
    for node in probes.executor.nodes.values():
        node.log = _Nothing()  # type: ignore[attr-defined]
    with probes.run(record=False) as run:
        drive(run, 2_000)
        threads = {thread.ident for thread in threading.enumerate()}
        tracemalloc.start()
        drive(run, 200)
        before = tracemalloc.get_traced_memory()[0]
        drive(run, 200)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        drive(run, STEPS - 2_400)
        assert {thread.ident for thread in threading.enumerate()} == threads
        assert len(run._shared.records) <= run.capacity + run.program.max_back + 1
    assert grown < 20_000  # a record alone takes several hundred bytes a step


class _Nothing(list[Any]):
    def append(self, item: Any) -> None:
        del item


def test_records_are_bounded_where_every_step_needs_bubbles() -> None:
    probes = probed(lagging(3))
    most = 0
    with probes.run(record=False) as run:
        for index in range(1_500):
            run.submit(index).result(timeout=HANG_S)
            most = max(most, len(run._shared.records))
        assert run.bubbles >= 1_500
    assert most <= run.capacity + 1


def test_a_resolved_step_keeps_neither_its_command_nor_its_result() -> None:
    import gc
    import weakref

    class Big:
        pass

    probes = probed("pingpong", lambda node, step, slots: Big() if node == "reclaim" else None)
    with probes.run() as run:
        command = Big()
        kept = weakref.ref(command)
        result = weakref.ref(run.submit(command).result(timeout=HANG_S))
        for index in range(3):
            run.submit(index).result(timeout=HANG_S)
        del command
        gc.collect()
        assert kept() is None
        assert result() is None


def test_spans_are_recorded_in_order_and_only_if_asked_for() -> None:
    with probed("pingpong").run() as run:
        drive(run, 20)
        spans = run.spans()
    assert len(spans) == 20 * 5
    assert [span.start for span in spans] == sorted(span.start for span in spans)
    assert all(span.ready <= span.start <= span.end for span in spans)
    with probed("pingpong").run(record=False) as run:
        drive(run, 5)
        assert run.spans() == []


def test_a_span_has_the_devices_own_time_where_the_node_tells_it() -> None:
    def behave(node: str, step: Any, slots: Any) -> None:
        if (node, step.index) == ("dispatch", 1):
            step.device_time(1234)

    with probed("pingpong", behave).run() as run:
        drive(run, 3)
    assert [span.device for span in run.spans() if span.node == "dispatch"] == [-1, 1234, -1]
