"""The nodes of `chip_run`: runs of a program on a chip, arguments in and results out, each on a stream of its own.

    with closing(SimulatedChip()) as chip, Runtime(compile(load("chip_run")), executor(chip)) as run:
        results = run.submit(Run(program, {"values": values})).result()

The chip's driver is behind three small protocols, in `nodes.chip_run.driver`.
"""

from nodes.chip_run.assembly import executor, pipeline
from nodes.chip_run.run_nodes import BindRun, CompleteRun, ExecuteRun, PrepareRun, RetireRun, Run
from nodes.chip_run.run_stream import RunStream, RunStreamError
from nodes.chip_run.simulated import SimulatedChip

__all__ = [
    "BindRun",
    "CompleteRun",
    "ExecuteRun",
    "PrepareRun",
    "RetireRun",
    "Run",
    "RunStream",
    "RunStreamError",
    "SimulatedChip",
    "executor",
    "pipeline",
]
