"""Whether an executor fits, and what runs instead where it lacks a capability."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import pytest

from graph import BindError, Executor, Ports, bind, compile, load
from graph.bind import load_executor
from nodes import DispatchNode, PrepareNode
from tests.fakes import HANG_S, Probed, probed

pytestmark = pytest.mark.usefixtures("nothing_left")


def lacking(name: str = "pingpong") -> Probed:
    return probed(name, capabilities=frozenset())


def with_node(node: str, implementation: Any) -> Probed:
    probes = probed("pingpong")
    nodes = {**probes.executor.nodes, node: implementation}
    return dataclasses.replace(probes, executor=dataclasses.replace(probes.executor, nodes=nodes))


def codes(error: BindError) -> set[str]:
    return {found.code for found in error.diagnostics}


def test_an_executor_that_fits_runs_the_program_itself() -> None:
    probes = probed("pingpong")
    bound = bind(probes.program, probes.executor)
    assert bound.program is probes.program
    assert bound.reason is None


def test_the_fallback_runs_where_a_capability_is_missing_and_the_reason_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "laneflow"), lacking().run() as run:
        assert run.topology_name == "sync"
        assert run.fallback_reason is not None
        assert "device_state" in run.fallback_reason
        assert [lane.name for lane in run.program.lanes] == ["main"]
        assert run.submit(0).result(timeout=HANG_S) == 0
    assert run.fallback_reason in caplog.text


def test_strict_refuses_the_fallback() -> None:
    with pytest.raises(BindError, match="device_state"):
        lacking().run(strict=True)


def test_without_a_fallback_the_missing_capability_is_lf501() -> None:
    probes = lacking()
    alone = compile(load("pingpong", ["fallback=null"]))
    with pytest.raises(BindError) as raised:
        bind(alone, probes.executor)
    assert codes(raised.value) == {"LF501"}
    assert "device_state" in str(raised.value)


def test_a_topology_that_requires_nothing_runs_on_any_executor() -> None:
    bound = bind(lacking("latebind").program, lacking("latebind").executor)
    assert bound.reason is None


class Reader(PrepareNode):
    ports = Ports(reads=("outputs.sampled",), writes=("inputs.rows",))

    def run(self, step: Any, slots: Any) -> None:
        """Never called: it does not fit."""


class Dispatcher(DispatchNode):
    def run(self, step: Any, slots: Any) -> None:
        """Never called: it does not fit."""


def test_other_ports_than_the_files_are_lf502() -> None:
    with pytest.raises(BindError) as raised:
        with_node("prepare", Reader()).run()
    assert codes(raised.value) == {"LF502"}
    assert {found.nodes for found in raised.value.diagnostics} == {("prepare",)}
    assert "outputs.sampled" in str(raised.value)
    assert "inputs.pages" in str(raised.value)


def test_a_class_of_another_kind_than_the_files_is_lf502() -> None:
    with pytest.raises(
        BindError, match="`prepare` is implemented by Dispatcher, a dispatch; the file says prepare"
    ):
        with_node("prepare", Dispatcher()).run()


def test_a_class_of_the_files_kind_fits() -> None:
    assert bind(with_node("dispatch", Dispatcher()).program, with_node("dispatch", Dispatcher()).executor)


def test_a_node_that_is_not_there_or_is_none_is_lf502() -> None:
    with pytest.raises(BindError, match="no implementation"):
        bind(probed("pingpong").program, Executor({}, capabilities=frozenset(load("pingpong").requires)))
    with pytest.raises(BindError, match="is no node"):
        with_node("prepare", object()).run()


def test_a_route_that_the_topology_lacks_is_lf503() -> None:
    probes = probed("pingpong", routes=("decode", "prefil"))
    with pytest.raises(BindError) as raised:
        probes.run()
    assert codes(raised.value) == {"LF503"}
    assert "prefil" in str(raised.value)


def test_every_misfit_is_told_at_once() -> None:
    probes = with_node("prepare", Reader())
    nodes = {**probes.executor.nodes, "release": Dispatcher()}
    executor = dataclasses.replace(probes.executor, nodes=nodes, routes=("nowhere",))
    with pytest.raises(BindError) as raised:
        bind(probes.program, executor)
    assert codes(raised.value) == {"LF502", "LF503"}
    assert {found.nodes for found in raised.value.diagnostics} == {("prepare",), ("release",), ()}


def test_a_process_lane_without_a_factory_is_refused_with_the_mend() -> None:
    program = compile(load("pingpong", ["lanes.device.worker=process"]))
    with pytest.raises(BindError, match=r"lanes\.device\.worker=thread"):
        bind(program, probed("pingpong").executor)


def made() -> Executor:
    return probed("pingpong").executor


def made_wrong() -> object:
    return object()


def test_an_executor_is_loaded_by_name() -> None:
    assert isinstance(load_executor(f"{__name__}:made"), Executor)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_colon", "package.module:callable"),
        (":made", "package.module:callable"),
        ("no_such_module:made", "cannot be imported"),
        (f"{__name__}:nothing_of_that_name", "cannot be imported"),
        (f"{__name__}:made_wrong", "returns object"),
    ],
)
def test_a_name_that_leads_to_no_executor(target: str, message: str) -> None:
    with pytest.raises(BindError, match=message):
        load_executor(target)
