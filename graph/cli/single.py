"""Commands about a sound topology: finding it on the command line, and refusing one that is not sound."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

from graph.cli.checking import Check
from graph.cli.command import UsageError
from graph.cli.sources import STDIN_FILE, Sources
from graph.cli.targets import STDIN, expand, shown
from graph.cli.terminal import coloured, err, out
from graph.diagnostics import Diagnostic, TopologyError
from graph.render import text
from graph.render.outcome import Outcome
from graph.topology import Topology
from graph.validate import validate


def single(targets: Sequence[str], command: str) -> str:
    """The one file that the targets mean; raises `UsageError` for none or several."""
    files = expand(targets)
    if len(files) != 1:
        raise UsageError(f"{command} takes one topology, not {len(files) or 'none'}")
    return files[0]


def sound(sources: Sources, target: str, overrides: Sequence[str]) -> Topology | None:
    """The topology; None where it has a fault, which is then told on stderr as `laneflow validate` does."""
    try:
        return validate(sources.load(target, overrides)).topology
    except TopologyError as error:
        outcomes = list(Check(sources, overrides).outcomes(target))
        if not any(outcome.faulty for outcome in outcomes):  # to be an abstract base is no fault in a file
            outcomes = [Outcome(named(target), tuple(map(_shown, error.diagnostics)))]
        err(f"{text.render(outcomes, sources.lines, coloured(sys.stderr))}\n\n{text.summary(outcomes)}")
        return None


def _shown(diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, location=diagnostic.location._replace(file=shown(diagnostic.location.file)))


def tell(report: str) -> None:
    """Print a report; what could drive the terminal is shown escaped, as names come from files."""
    out("\n".join(map(text.printable, report.split("\n"))))


def named(target: str) -> str:
    """What to call a target."""
    return STDIN_FILE if target == STDIN else shown(target)


def known_route(topology: Topology, route: str | None) -> str:
    """The route of that name, by default the first; raises `UsageError` where there is none."""
    routes = topology.steps_routes()
    if route is None:
        return next(iter(routes))
    return route if route in routes else known_name(route, routes, f"`{topology.topology}` has no route")


def known_name(name: str, names: Iterable[str], complaint: str) -> str:
    """The name, if it is one of those; raises `UsageError` with the nearest."""
    known = list(names)
    if name in known:
        return name
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"it has {', '.join(known)}"
    raise UsageError(f"{complaint} `{name}`; {hint}")
