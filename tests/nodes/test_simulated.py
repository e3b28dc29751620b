"""Simulated nodes: any topology runs on them, and devices tell their own time."""

from __future__ import annotations

import pytest

from graph import Runtime, compile, load
from graph.files import shipped
from nodes.simulated import SimulatedDevice, SimulatedHost, simulated
from tests.fakes import HANG_S


@pytest.mark.parametrize("name", [name for name in shipped() if name != "decode"])
def test_every_shipped_topology_runs_on_simulated_nodes(name: str) -> None:
    program = compile(load(name))
    free = dict.fromkeys(program.topology.nodes, 0.0)
    with Runtime(program, simulated(program.topology, free)) as run:
        assert list(run.map(range(20))) == list(range(20))
        for route in program.topology.steps_routes():
            run.submit(None, route=route).result(timeout=HANG_S)


def test_devices_report_the_time_that_was_asked_for() -> None:
    program = compile(load("pingpong"))
    costs = {"prepare": 0.1, "dispatch": 2.0, "reclaim": 0.1}
    with Runtime(program, simulated(program.topology, costs)) as run:
        list(run.map(range(5)))
    spans = [span for span in run.spans() if span.node == "dispatch"]
    assert {span.device for span in spans} == {2_000_000}
    assert all(span.end - span.start >= 2_000_000 for span in spans)


def test_host_work_takes_processor_time_or_waits() -> None:
    executor = simulated(load("pingpong"))
    assert isinstance(executor.nodes["dispatch"], SimulatedDevice)
    assert not isinstance(executor.nodes["dispatch"], SimulatedHost)
    prepare = executor.nodes["prepare"]
    assert isinstance(prepare, SimulatedHost)
    assert prepare.holds_lock
    assert prepare.seconds == pytest.approx(0.0044)  # from the file's `costs`
    waiting = simulated(load("pingpong"), holds_lock=False).nodes["prepare"]
    assert isinstance(waiting, SimulatedHost)
    assert not waiting.holds_lock


def test_a_simulated_executor_has_what_the_topology_requires() -> None:
    executor = simulated(load("pingpong"))
    assert executor.capabilities == {"device_state", "device_embedding", "split_reclaim"}
    assert set(executor.resources) == {"Caches"}
