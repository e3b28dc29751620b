"""Whether an executor fits a topology, and which topology runs where it lacks a capability."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from graph.diagnostics import Diagnostic
from graph.errors import BindError
from graph.node import Executor
from graph.program import Program, compile
from graph.reading import fallback_of
from graph.rules.fit import check_fit, missing_capabilities
from graph.shared_slots import homes

log = logging.getLogger("laneflow")


@dataclass(frozen=True)
class Bound:
    """A program that its executor can run; `reason` says why it is the fallback, if it is."""

    program: Program
    reason: str | None = None


def bind(program: Program, executor: Executor, *, strict: bool = False) -> Bound:
    """The program itself where the executor fits it, else the first fallback that it fits.

    Raises `BindError` where ports, nodes or routes do not agree, where nothing fits, and, if `strict`,
    instead of falling back.
    """
    reasons: list[str] = []
    while lacking := missing_capabilities(program.topology, executor):
        topology = program.topology
        reason = f"`{topology.topology}` requires {', '.join(lacking)}, which the executor lacks"
        if strict or topology.fallback is None:
            raise BindError(reason, check_fit(topology, executor))
        reasons.append(reason)
        program = compile(fallback_of(topology))
    faults = [found for found in check_fit(program.topology, executor) if found.severity == "error"]
    if faults:
        raise BindError(_summary(program, faults), faults)
    _check_workers(program, executor)
    if not reasons:
        return Bound(program)
    reason = f"running `{program.topology.topology}` instead: {'; '.join(reasons)}"
    log.warning(reason)
    return Bound(program, reason)


def _summary(program: Program, faults: list[Diagnostic]) -> str:
    return f"the executor does not fit `{program.topology.topology}` ({len(faults)} faults)"


def _check_workers(program: Program, executor: Executor) -> None:
    for lane in program.lanes:
        if lane.worker == "process":
            _check_factory(lane.name, executor.factory)
    homes(program.topology)


def _check_factory(lane: str, factory: object) -> None:
    mend = (
        "set `factory` of the executor to a function of a module, or its name as package.module:callable, or "
        f"override lanes.{lane}.worker=thread"
    )
    if factory is None:
        raise BindError(f"lane `{lane}` runs in a process, which cannot make the executor: {mend}")
    try:
        pickle.dumps(factory)
    except Exception as error:  # of the factory's own code
        raise BindError(
            f"lane `{lane}` runs in a process, and the executor's `factory` cannot be pickled: {error}: {mend}"
        ) from error


def remade(factory: Callable[[], Executor] | str, nodes: Sequence[str], lane: str) -> Executor:
    """The executor in the process of `lane`; raises `BindError` where it is not made or lacks one of `nodes`."""
    try:
        executor = load_executor(factory) if isinstance(factory, str) else factory()
    except Exception as error:
        raise BindError(f"the executor's factory fails in the process of lane `{lane}`: {error!r}") from error
    lacking = [node for node in nodes if node not in executor.nodes]
    if lacking:
        raise BindError(
            f"the executor that its factory makes for lane `{lane}` lacks {', '.join(lacking)}: a factory must "
            f"return an equal executor each time"
        )
    return executor


def load_executor(target: str) -> Executor:
    """The executor that `package.module:callable` returns; raises `BindError` where it cannot be had.

    This imports and runs the user's code: never called for a name that comes out of a file.
    """
    module_name, colon, name = target.partition(":")
    if not colon or not module_name or not name:
        raise BindError(f"`{target}`: write it as package.module:callable")
    try:
        factory: Callable[[], object] = getattr(import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise BindError(f"`{target}` cannot be imported: {error}") from error
    executor = factory()
    if not isinstance(executor, Executor):
        raise BindError(f"`{target}` returns {type(executor).__name__}; it must return a graph.Executor")
    return replace(executor, factory=executor.factory or target)
