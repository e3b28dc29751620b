"""Checking one target, so that whatever the file holds there is an outcome and never a traceback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from graph.cli.failure import internal_error
from graph.cli.sources import STDIN_FILE, Sources
from graph.cli.targets import STDIN, shown
from graph.diagnostics import Diagnostic, TopologyError
from graph.explain import explained
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

    def outcomes(self, target: str) -> Iterator[Outcome]:
        """What the check of a target comes to, and of the fallback where the executor would run that."""
        file = STDIN_FILE if target == STDIN else shown(target)
        try:
            yield from self._outcomes(self.sources.load(target, self.overrides), file)
        except TopologyError as error:
            yield Outcome(file, _shown(error.diagnostics))
        except Exception as error:
            yield Outcome(file, crash=internal_error(error))

    def _outcomes(self, topology: Topology, file: str) -> Iterator[Outcome]:
        running = topology if self.executor is None else _running(topology, self.executor)
        if running is not topology:
            yield _judged(topology, file, note=f"this executor runs `{running.topology}` instead")
            file = shown(running.place().file)
        yield _judged(running, file, () if self.executor is None else check_fit(running, self.executor))


def _judged(topology: Topology, file: str, misfits: Sequence[Diagnostic] = (), note: str = "") -> Outcome:
    """The verdict on a topology; it stands even where finding schedules and mends for it fails."""
    found, crash = diagnose(topology), ""
    try:
        found = explained(topology, found)
    except Exception as error:
        crash = internal_error(error)
    return Outcome(file, _shown([*found, *misfits]), topology, crash, note)


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
