"""Diagnostics with what is computed for a person: the schedule that shows the fault and its mend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graph.diagnostics import Diagnostic
from graph.mend import mends
from graph.topology import Topology
from graph.witness import schedules

MOST_EXPLAINED = 100
"""Where there are hundreds they mostly have one cause; what comes after keeps the rule's own help."""


def explained(topology: Topology, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What `diagnose` found in the topology, with `schedule` and a proved `help` where there is one.

    Of more than `MOST_EXPLAINED` the first are explained.
    """
    first = found[:MOST_EXPLAINED]
    made = zip(first, schedules(topology, first), mends(topology, found, len(first)), strict=True)
    told = [
        replace(diagnostic, schedule=schedule, help=mend.help if mend else diagnostic.help)
        for diagnostic, schedule, mend in made
    ]
    return [*told, *found[MOST_EXPLAINED:]]
