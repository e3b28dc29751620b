"""Diagnostics with what is computed for a person: the schedule that shows the fault and its mend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graph.diagnostics import Diagnostic
from graph.mend import mends
from graph.topology import Topology
from graph.witness import schedules


def explained(topology: Topology, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What `diagnose` found in the topology, with `schedule` and a proved `help` where there is one."""
    return [
        replace(diagnostic, schedule=schedule, help=mend.help if mend else diagnostic.help)
        for diagnostic, schedule, mend in zip(
            found, schedules(topology, found), mends(topology, found), strict=True
        )
    ]
