"""Checking one target, so that whatever the file holds there is an outcome and never a traceback."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from graph.cli.failure import internal_error
from graph.cli.sources import STDIN_FILE, Sources
from graph.cli.targets import STDIN, shown
from graph.diagnostics import Diagnostic, TopologyError
from graph.node import Executor
from graph.reading import fallback_of
from graph.render.outcome import Outcome
from graph.rules.fit import check_fit, missing_capabilities
from graph.topology import Topology
from graph.validate import diagnose


@dataclass(frozen=True)
class Check:
    """The check of one command line: its overrides, and the executor that topologies are bound to, if any."""

    sources: Sources
    overrides: Sequence[str] = ()
    executor: Executor | None = None

    def outcome(self, target: str) -> Outcome:
        """What the check of a target comes to; an exception becomes the outcome's `crash`."""
        file = STDIN_FILE if target == STDIN else shown(target)
        try:
            return self._outcome(target, file)
        except TopologyError as error:
            return Outcome(file, _shown(error.diagnostics))
        except Exception as error:
            return Outcome(file, crash=internal_error(error))

    def _outcome(self, target: str, file: str) -> Outcome:
        topology = self.sources.load(target, self.overrides)
        found = diagnose(topology)
        if self.executor is None:
            return Outcome(file, _shown(found), topology)
        running = _running(topology, self.executor)
        found += check_fit(running, self.executor)
        if running is topology:
            return Outcome(file, _shown(found), topology)
        lacking = ", ".join(missing_capabilities(topology, self.executor))
        note = f"runs `{running.topology}` instead: the executor lacks {lacking}"
        return Outcome(file, _shown([*found, *diagnose(running)]), topology, note=note)


def _running(topology: Topology, executor: Executor) -> Topology:
    """What runs with this executor: the topology, or the first fallback that requires no more than it has."""
    while missing_capabilities(topology, executor) and topology.fallback is not None:
        topology = fallback_of(topology)
    return topology


def _shown(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics with their files named as a person would write them here."""
    return tuple(
        replace(diagnostic, location=diagnostic.location._replace(file=shown(diagnostic.location.file)))
        for diagnostic in found
    )
