"""From a chip to the executor that runs `chip_run` on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graph.node import Executor, Node
from graph.reading import load
from graph.topology import Topology
from nodes.chip_run.driver import DeviceContext
from nodes.chip_run.run_nodes import BindRun, CompleteRun, ExecuteRun, PrepareRun, RetireRun
from nodes.chip_run.run_stream import RunStream
from nodes.chip_run.simulated import SimulatedChip


def executor(
    chip: DeviceContext,
    topology: Topology | None = None,
    *,
    nodes: Mapping[str, Node] | None = None,
    dims: Mapping[str, int] | None = None,
) -> Executor:
    """The five nodes and what makes their resources on `chip`, which the caller closes after the run.

    `topology` is `chip_run`, or one that extends it with other fields of `Arguments` and `Results`; `nodes` replaces
    some of the five; `dims` are sizes that replace the topology's. Raises `ValueError` for a name that is neither's.
    """
    source = topology or load("chip_run")
    arguments, results = source.fields("arguments"), source.fields("results")
    own: dict[str, Node] = {
        "prepare": PrepareRun(arguments),
        "bind": BindRun(),
        "execute": ExecuteRun(chip.device, arguments, results),
        "complete": CompleteRun(results),
        "retire": RetireRun(),
    }
    _check_known("node", nodes or {}, own)
    _check_known("dim", dims or {}, source.dims)
    resources = {"RunStream": lambda: RunStream(chip.stream()), "NativeExecutor": chip.executor}
    return Executor({**own, **(nodes or {})}, resources=resources, dims=dims or {})


def _check_known(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    for name in set(given) - set(known):
        raise ValueError(f"no {what} `{name}`; there are {', '.join(known)}")


def pipeline() -> Executor:
    """On a simulated chip whose runs take no time: for `laneflow validate chip_run --bind nodes.chip_run:pipeline`."""
    return executor(SimulatedChip())
