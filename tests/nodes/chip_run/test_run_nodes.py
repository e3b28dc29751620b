"""What the five nodes ask of a command, of the lanes and of the chip, and what takes their place."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest
import torch

from graph import BindError, LifecycleError, Runtime, StepError, compile, load, load_text
from nodes.chip_run import CompleteRun, Run, SimulatedChip, executor, pipeline
from nodes.chip_run.driver import Tensors
from tests.fakes import HANG_S
from tests.nodes.chip_run.driving import double, doubled, run_of, start

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.mark.parametrize(
    ("command", "node", "told"),
    [
        ("go", "prepare", "step 0 has 'go' as its command: submit a `Run`"),
        (Run(double, {}), "prepare", r"the arguments \[\]: give one for each of \['values'\]"),
        (Run(double, {"values": 1.0, "more": 2.0}), "prepare", r"\['more', 'values'\]"),
        (
            Run(double, {"values": [1.0, 2.0]}),
            "prepare",
            r"argument `values` of step 0 is \[2\]: it has to be \[16\]",
        ),
    ],
)
def test_a_command_that_is_no_run_of_these_arguments_is_refused(command: Any, node: str, told: str) -> None:
    with closing(SimulatedChip()) as chip, start(chip) as run:
        with pytest.raises(StepError, match=told) as raised:
            run.submit(command).result(timeout=HANG_S)
        assert raised.value.node == node
        assert doubled(run.submit(run_of(0)).result(timeout=HANG_S)) == 2.0


SMALL = load_text('extends: chip_run\ntypes: {Arguments: {values: "uint8[arguments]"}}\n')


@pytest.mark.parametrize("value", [300, -1, 1.5, torch.tensor(300.0), torch.tensor(300), 1j])
def test_an_argument_that_its_field_cannot_hold_is_refused(value: Any) -> None:
    """It used to become another one."""

    def sum_up(arguments: Tensors, results: Tensors) -> None:
        results["values"].copy_(arguments["values"])

    with closing(SimulatedChip()) as chip, Runtime(compile(SMALL), executor(chip, SMALL)) as run:
        with pytest.raises(StepError, match="argument `values` of step 0"):
            run.submit(Run(sum_up, {"values": value})).result(timeout=HANG_S)
        result = run.submit(Run(sum_up, {"values": torch.tensor(255)})).result(timeout=HANG_S)
    assert result["values"][0] == 255


def test_an_argument_with_gradients_harms_no_later_run() -> None:
    """Its history used to stay in the slot, and every later run with the slot failed."""
    learned = torch.ones(16, requires_grad=True)
    with closing(SimulatedChip()) as chip, start(chip) as run:
        results = [run.submit(Run(double, {"values": learned})).result(timeout=HANG_S)]
        results += [run.submit(run_of(step)).result(timeout=HANG_S) for step in range(4)]
    assert [doubled(result) for result in results] == [2.0, 2.0, 4.0, 6.0, 8.0]


def test_a_program_writes_into_the_results_and_does_not_replace_them() -> None:
    """What it put in their place used to be lost without a word."""

    def replace(arguments: Any, results: Any) -> None:
        results["values"] = arguments["values"] * 2

    with closing(SimulatedChip()) as chip, start(chip) as run:
        error = run.submit(Run(replace, {"values": 1.0})).exception(timeout=HANG_S)
    assert isinstance(error, StepError)
    assert isinstance(error.cause, TypeError)


@pytest.mark.parametrize(
    "wrong", [{"nodes": {"executes": CompleteRun(["values"])}}, {"dims": {"argument": 4}}]
)
def test_a_name_that_the_topology_does_not_have_is_refused(wrong: Any) -> None:
    with (
        closing(SimulatedChip()) as chip,
        pytest.raises(ValueError, match=r"no (node `executes`|dim `argument`)"),
    ):
        executor(chip, **wrong)


def test_a_result_is_not_changed_by_later_runs() -> None:
    with closing(SimulatedChip()) as chip, start(chip) as run:
        kept = [run.submit(run_of(step)).result(timeout=HANG_S) for step in range(6)]
    assert [doubled(result) for result in kept] == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]


def test_the_fields_and_sizes_are_the_topologys() -> None:
    source = load_text(
        "extends: chip_run\n"
        'types: {Arguments: {values: null, a: "int64[arguments]", b: "int64[arguments]"}}\n'
        "dims: {arguments: 2, results: 2}\n"
    )

    def add(arguments: Tensors, results: Tensors) -> None:
        torch.add(arguments["a"], arguments["b"], out=results["values"])

    with closing(SimulatedChip()) as chip, Runtime(compile(source), executor(chip, source)) as run:
        result = run.submit(Run(add, {"a": [1, 2], "b": torch.tensor([10, 20])})).result(timeout=HANG_S)
    assert result["values"].tolist() == [11.0, 22.0]


def test_a_node_may_be_ones_own() -> None:
    class Sum(CompleteRun):
        def run(self, step: Any, slots: Any) -> Any:
            return float(slots.results.values.sum())

    parts = executor(SimulatedChip(), nodes={"complete": Sum([])}, dims={"arguments": 3, "results": 3})
    with Runtime(compile(load("chip_run")), parts) as run:
        assert run.submit(run_of(0)).result(timeout=HANG_S) == 6.0


def test_a_lane_that_is_no_queue_is_refused() -> None:
    program = compile(load("chip_run", ["lanes.device.worker=thread"]))
    with pytest.raises(LifecycleError, match="`execute` launches on a queue"), Runtime(program, pipeline()):
        pytest.fail("it must not start")


def test_a_run_on_another_device_than_the_chip_is_refused() -> None:
    chip = SimulatedChip()
    chip.device = "cuda"
    with pytest.raises(LifecycleError, match="give the Runtime device='cuda'"), start(chip):
        pytest.fail("it must not start")


def test_a_chip_has_one_native_executor_at_a_time() -> None:
    with closing(SimulatedChip()) as chip:
        with start(chip) as first:
            with pytest.raises(BindError, match="one for each device context"), start(chip):
                pytest.fail("it must not start")
            assert doubled(first.submit(run_of(0)).result(timeout=HANG_S)) == 2.0
        with start(chip) as second:
            assert doubled(second.submit(run_of(0)).result(timeout=HANG_S)) == 2.0


def test_a_chip_is_closed_behind_the_run() -> None:
    chip = SimulatedChip()
    with start(chip), pytest.raises(RuntimeError, match="leave the run's block first"):
        chip.close()
    chip.close()
    with pytest.raises(BindError, match="the chip is closed"), start(chip):
        pytest.fail("it must not start")


def test_a_run_takes_no_less_than_no_time() -> None:
    with pytest.raises(ValueError, match="0 seconds or more"):
        SimulatedChip(-1.0)


def test_runs_take_the_chips_time_by_its_own_clock() -> None:
    def nothing(arguments: Mapping[str, Any], results: Mapping[str, Any]) -> None:
        """Only the chip's own time."""

    with closing(SimulatedChip(0.002)) as chip, start(chip) as run:
        list(run.map(run_of(step, nothing) for step in range(5)))
        spans = [span for span in run.spans() if span.node == "execute"]
    assert all(span.device >= 2_000_000 for span in spans)
    assert all(later.start >= earlier.end for earlier, later in pairwise(spans))
