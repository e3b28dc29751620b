"""What a run is made with, looked at before anything is bound or started."""

from __future__ import annotations

from graph.interpreter import check_interval, is_number
from graph.node import Executor
from graph.program import Program
from graph.topology import Topology


def check_parts(program: object, executor: object) -> None:
    """Raises `TypeError` where the two are not what they have to be."""
    if isinstance(program, Topology):
        raise TypeError("a run is made of a compiled topology: Runtime(compile(topology), executor)")
    if not isinstance(program, Program):
        raise TypeError(f"a run is made of what `compile(topology)` returns, not of {program!r}")
    if not isinstance(executor, Executor):
        raise TypeError(f"a run needs an `Executor` with the nodes of the topology, not {executor!r}")


def check_numbers(
    queue: int,
    threads: int | None,
    switch_interval_ms: float | None,
    drain_timeout: float | None,
    completion_timeout: float | None,
) -> None:
    """Raises `ValueError` naming the option that is out of bounds, or no number."""
    if type(queue) is not int or queue < 1:
        raise ValueError(f"queue={queue!r}: a whole number; at least one step must be able to wait")
    if threads is not None and (type(threads) is not int or threads < 1):
        raise ValueError(f"threads={threads!r}: a lane needs at least one, or None to leave torch alone")
    if switch_interval_ms is not None:
        check_interval(switch_interval_ms)
    if completion_timeout is not None and not (is_number(completion_timeout) and completion_timeout > 0):
        raise ValueError(
            f"completion_timeout={completion_timeout!r}: it is over 0 seconds, or None for no limit"
        )
    if drain_timeout is not None and not (is_number(drain_timeout) and drain_timeout >= 0):
        raise ValueError(f"drain_timeout={drain_timeout!r}: it is 0 or more seconds, or None for no limit")
