"""`laneflow plan --sweep`: a table of choices."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph.cli.command import UsageError
from graph.cli.single import tell
from graph.cli.sources import Sources
from graph.cli.terminal import out
from graph.diagnostics import TopologyError
from graph.durations import durations_of
from graph.memory import by_place, memory
from graph.plan import predict
from graph.render.sweep import Row, as_dicts, render
from graph.resources import Holders
from graph.sweep import Choice, axis, choices
from graph.topology import Topology
from graph.validate import faults

LONG = 40
"""Choices from which on a bar shows how far it is."""


@dataclass(frozen=True)
class Sweep:
    """What all choices of one command line have in common."""

    sources: Sources
    target: str
    overrides: Sequence[str]
    route: str
    recorded: Mapping[str, float]
    held: Holders

    def run(self, words: Sequence[str], topology: Topology, as_json: bool) -> int:
        """Print the table, or the same as one JSON object; 1 where no choice is sound."""
        try:
            listed = choices([axis(word, topology) for word in words])
        except ValueError as error:
            raise UsageError(f"--sweep: {error}") from error
        rows = [self._row(choice) for choice in _watched(listed)]
        if as_json:
            head = {"topology": topology.topology, "route": self.route}
            out(json.dumps({**head, "sweep": as_dicts(rows)}, indent=2))
        else:
            tell(render(topology.topology, self.route, rows))
        return int(all(row.codes for row in rows))

    def _row(self, choice: Choice) -> Row:
        """Readable or not, sound or not: each choice has its row."""
        try:
            topology = self.sources.load(self.target, [*self.overrides, *choice.overrides])
        except TopologyError as error:
            return Row(choice.settings, codes=_codes(one.code for one in error.diagnostics))
        found = [one.code for one in faults(topology) if one.severity == "error"]
        if topology.abstract:
            found.append("LF002")
        elif self.route not in topology.steps_routes():
            found.append("LF503")
        if found:
            return Row(choice.settings, codes=_codes(found))
        times = durations_of(topology, self.recorded).times
        prediction = predict(topology, times, self.route, self.held)
        return Row(choice.settings, prediction, by_place(memory(topology)))


def _codes(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(found)))


def _watched(listed: Sequence[Choice]) -> Iterator[Choice]:
    """The choices; with a bar on stderr where there are many and a person looks."""
    if len(listed) < LONG or not sys.stderr.isatty():
        yield from listed
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(listed, "sweep", console=Console(stderr=True), transient=True)
