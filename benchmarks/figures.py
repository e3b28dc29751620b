"""From the calls of a run to its figures, in milliseconds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from benchmarks.workloads import Workload
from graph import Topology
from graph.measures import periods_over
from graph.plan import Prediction, predict
from graph.spread import spread

Stamps = Sequence[Sequence[int]]
WARM_UP = 0.1
"""The share of the steps at the start that is left out."""


@dataclass(frozen=True)
class Figures:
    """One run of one peer."""

    period: float
    """From one start of the device to the next, over as many steps as there are slots; median."""
    gap_py: float
    """From the end of a device call, as Python stamped it, to the start of the next; median."""
    gap_py_p99: float
    gap_true: float
    """From the end of the device's own work to the start of the next call; median."""
    step: float
    """All of the run over its steps: from reclaim to reclaim."""
    own: float
    """The device's own work; median."""


def figures(calls: Mapping[str, Stamps], slots: int) -> Figures:
    """Of at least ten steps."""
    device, reclaim = calls["device"], calls["reclaim"]
    first = max(1, round(len(device) * WARM_UP))
    pairs = list(pairwise(device[first:]))
    gap = spread([start - end for (_, end, _), (start, _, _) in pairs])
    true = [start - (before + own) for (before, _, own), (start, _, _) in pairs]
    periods = periods_over({step: one[0] for step, one in enumerate(device) if step >= first}, slots)
    assert gap is not None
    return Figures(
        period=statistics.median(periods) / 1e6,
        gap_py=gap.median,
        gap_py_p99=gap.p99,
        gap_true=statistics.median(true) / 1e6,
        step=(reclaim[-1][1] - reclaim[first - 1][1]) / (len(reclaim) - first) / 1e6,
        own=statistics.median(one[2] for one in device) / 1e6,
    )


def over_rounds(rounds: Sequence[Figures]) -> Figures:
    """The median of each figure."""
    return Figures(
        **{name: statistics.median(getattr(one, name) for one in rounds) for name in vars(rounds[0])}
    )


def ratio(
    own: Mapping[int, Figures], other: Mapping[int, Figures], of: Callable[[Figures], float]
) -> float | None:
    """The median over the rounds that both have, of a figure over that of the other in the same round."""
    both = [of(own[number]) / of(other[number]) for number in own if number in other and of(other[number])]
    return statistics.median(both) if both else None


def bound(topology: Topology, workload: Workload, runs: Iterable[Figures]) -> Prediction:
    """What the topology allows: its critical cycle, or the interpreter lock, which the host's work holds.

    The device's time is the median of what it was by its own clock.
    """
    device = statistics.median(one.own for one in runs)
    costs = {"prepare": workload.prepare_ms, "dispatch": device, "reclaim": workload.reclaim_ms}
    return predict(
        topology,
        {node: Fraction(costs.get(node, 0.0)).limit_denominator(10**6) for node in topology.nodes},
    )
