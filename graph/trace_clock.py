"""One clock for the processes of a run."""

from __future__ import annotations

from collections.abc import Sequence

from graph.trace import Trace


def shifts(traces: Sequence[Trace]) -> list[int]:
    """For each trace, the nanoseconds to add to its span times so that all are on one clock.

    Processes on one running kernel share a clock already; otherwise it is the wall clock, as well as the
    machines keep it.
    """
    boots = {trace.clock.boot for trace in traces}
    if len(traces) == 1 or (len(boots) == 1 and None not in boots):
        return [0] * len(traces)
    return [trace.clock.unix_ns - trace.clock.perf_ns for trace in traces]
