"""The figures of a run, whether it has just ended or was read from a trace file.

Several traces are the ranks of one run: their samples are pooled, so a median is over all ranks and a maximum
is that of the worst.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from graph.content import content
from graph.critical import critical_cycle
from graph.measures import Measures, durations_ns, measure, periods_over
from graph.plan import predict
from graph.program import compile
from graph.resources import ACCELERATOR, INTERPRETER
from graph.spread import Share, Spread, spread
from graph.stalls import Cause, stalls
from graph.topology import Topology
from graph.trace import Trace
from graph.trace_clock import shifts


@dataclass(frozen=True)
class Predicted:
    """What the topology allows with the median durations that were measured."""

    period_ms: float
    ratio: float | None
    """Measured over predicted; the measured period is over as many steps as the limiting cycle has tokens."""
    limit: str
    """What sets the predicted period, in words."""


@dataclass(frozen=True)
class Waiting:
    """All stalls of one lane at one node that have one cause, in milliseconds."""

    lane: str
    node: str
    cause: Cause
    total_ms: float
    longest_ms: float
    count: int


@dataclass(frozen=True)
class Lane:
    """A lane from its first firing to the end of its last, over all routes."""

    busy: float | None
    """The share of that time in which a node was at work."""
    waiting_ms: float | None
    """The rest of it, for each step that visited the lane."""


@dataclass(frozen=True)
class Report:
    """Figures of one route's steps; None where there was nothing to measure. Times in milliseconds."""

    topology: str
    route: str
    ranks: tuple[int, ...]
    steps: int
    """Of the route, with a dispatch, over all ranks."""
    period: Spread | None
    """From dispatch to dispatch of adjacent steps: span plus gap."""
    span: Spread | None
    """From the start of a step's first dispatch to the end of its last."""
    gap_py: Spread | None
    gap_true: Spread | None
    prepare_overlap: Share
    """Steps whose prepare was over before the dispatch of the step before it ended."""
    reclaim_overlap: Share
    """Steps whose reclaim ran inside the dispatch of the step after it."""
    nodes: Mapping[str, Spread | None]
    """How long each node of the route worked."""
    lanes: Mapping[str, Lane]
    predicted: Predicted | None
    waiting: tuple[Waiting, ...]
    """Why lanes stood still, over all routes; the longest together first."""
    skew: Spread | None
    """Between the first and the last rank that starts a step's dispatch."""
    fallback: str | None
    failed: int
    """Firings that raised."""
    dropped: int
    """Firings without a span, because the buffer of their lane was full."""
    bubbles: int
    notes: Mapping[str, str]
    """What the application had to say of the run."""

    @property
    def gap(self) -> Spread | None:
        """The device's idle time by its own clock, or, where it has none, as Python stamped it."""
        return self.gap_true or self.gap_py


def report(*traces: Trace, route: str | None = None) -> Report:
    """The figures of one route, by default the first, of a run with one trace for each rank.

    Raises `ValueError` where the ranks ran different topologies, and for a route that is not declared.
    """
    topology = _common_topology(traces)
    routes = topology.steps_routes()
    name = route if route is not None else next(iter(routes))
    if name not in routes:
        raise ValueError(f"no route `{name}`; `{topology.topology}` has {', '.join(routes)}")
    measured = [measure(trace.spans, topology, name) for trace in traces]
    durations = durations_ns(chain.from_iterable(trace.spans for trace in traces), name)
    waiting = _waiting(traces)
    return Report(
        topology=topology.topology,
        route=name,
        ranks=tuple(trace.process.rank for trace in traces),
        steps=sum(one.steps for one in measured),
        period=spread([sample for one in measured for sample in one.period]),
        span=spread([sample for one in measured for sample in one.dispatch]),
        gap_py=spread([sample for one in measured for sample in one.gap_py]),
        gap_true=spread([sample for one in measured for sample in one.gap_true]),
        prepare_overlap=Share.of_margins([margin for one in measured for margin in one.prepare_margins]),
        reclaim_overlap=Share.of_margins([margin for one in measured for margin in one.reclaim_margins]),
        nodes={node: spread(durations.get(node, ())) for node in routes[name]},
        lanes={lane: _lane(lane, traces) for lane in topology.lanes},
        predicted=_predicted(topology, name, durations, measured),
        waiting=waiting,
        skew=spread(_skews(traces, measured)),
        fallback=next((trace.fallback for trace in traces if trace.fallback is not None), None),
        failed=sum(span.error is not None for trace in traces for span in trace.spans),
        dropped=sum(sum(trace.dropped.values()) for trace in traces),
        bubbles=sum(trace.bubbles for trace in traces),
        notes={name: text for trace in reversed(traces) for name, text in trace.notes.items()},
    )


def _common_topology(traces: Sequence[Trace]) -> Topology:
    first = traces[0]
    for other in traces[1:]:
        if content(other.topology) != content(first.topology):
            raise ValueError(
                f"rank {other.process.rank} ran another `{other.topology.topology}` than the "
                f"`{first.topology.topology}` of rank {first.process.rank}: report them one at a time"
            )
    return first.topology


def _predicted(
    topology: Topology, route: str, durations: Mapping[str, Sequence[int]], measured: Sequence[Measures]
) -> Predicted | None:
    """Shared resources are left out: the wait for one is in the measured durations."""
    times = dict.fromkeys(topology.nodes, Fraction(0))
    times |= {node: Fraction(statistics.median(samples)) / 10**6 for node, samples in durations.items()}
    foreseen = predict(topology, times, route, {INTERPRETER: (), ACCELERATOR: ()})
    if not foreseen.period:
        return None
    tokens = critical_cycle(foreseen.graph, foreseen.times).tokens
    periods = [period for one in measured for period in periods_over(one.starts, tokens)]
    ratio = statistics.median(periods) / 1e6 / float(foreseen.period) if periods else None
    return Predicted(float(foreseen.period), ratio, foreseen.limit.text)


def _waiting(traces: Sequence[Trace]) -> tuple[Waiting, ...]:
    found: dict[tuple[str, str, Cause], list[int]] = {}
    for trace in traces:
        for stall in stalls(trace.spans, compile(trace.topology)):
            found.setdefault((stall.lane, stall.node, stall.cause), []).append(stall.end - stall.start)
    sums = (Waiting(*key, sum(times) / 1e6, max(times) / 1e6, len(times)) for key, times in found.items())
    return tuple(sorted(sums, key=lambda one: -one.total_ms))


def _lane(lane: str, traces: Sequence[Trace]) -> Lane:
    busy = alive = steps = 0
    for trace in traces:
        own = [span for span in trace.spans if span.lane == lane]
        busy += sum(span.end - span.start for span in own)
        alive += max(span.end for span in own) - own[0].start if own else 0
        steps += len({span.turn for span in own})
    return Lane(busy / alive if alive else None, (alive - busy) / steps / 1e6 if steps else None)


def _skews(traces: Sequence[Trace], measured: Sequence[Measures]) -> list[int]:
    """For each step that all ranks ran, from the first start of its dispatch to the last."""
    if len(traces) < 2:
        return []
    moved = shifts(traces)
    common = set(measured[0].starts).intersection(*(one.starts for one in measured[1:]))
    starts = [
        [one.starts[step] + shift for one, shift in zip(measured, moved, strict=True)]
        for step in sorted(common)
    ]
    return [max(ranks) - min(ranks) for ranks in starts]
