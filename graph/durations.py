"""How long each node takes, and who says so: an override, a recorded run, or the file's `costs:`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, NamedTuple

from graph.topology import Topology

Source = Literal["override", "trace", "file"]


class Durations(NamedTuple):
    """Milliseconds of every node; one that nothing is known of takes 0 and has no source."""

    times: Mapping[str, Fraction]
    source: Mapping[str, Source]


def durations_of(topology: Topology, recorded: Mapping[str, float] | None = None) -> Durations:
    """Durations: those of an override, else as `recorded` in milliseconds, else of the file's `costs:`."""
    times: dict[str, Fraction] = {}
    source: dict[str, Source] = {}
    for name in topology.nodes:
        times[name] = Fraction(0)
        if name in topology.costs:
            overridden = topology.place("costs", name).file.startswith("override ")
            times[name], source[name] = exact(topology.costs[name]), "override" if overridden else "file"
        if recorded and name in recorded and source.get(name) != "override":
            times[name], source[name] = exact(recorded[name]), "trace"
    return Durations(times, source)


def exact(milliseconds: float) -> Fraction:
    """The number as it is written: 4.4 is 22/5, not the nearest binary fraction."""
    return Fraction(repr(milliseconds))
