"""From a topology to a proof that it is sound, or to every reason why it is not, at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graph.diagnostics import Diagnostic, TopologyError
from graph.order import MarkedGraph, marked_graph
from graph.rules.advice import advice
from graph.rules.custody import custody
from graph.rules.emission import emission
from graph.rules.facts import facts
from graph.rules.handing import handing
from graph.rules.holding import holding
from graph.rules.lifetime import lifetime
from graph.rules.names import names
from graph.rules.progress import deadlocks, late_turns, unreached_limit
from graph.rules.shape import shape
from graph.rules.state import generations, races
from graph.rules.structure import structure, unvisited
from graph.rules.tenure import tenures
from graph.rules.types import types
from graph.rules.written import written
from graph.topology import Topology


@dataclass(frozen=True)
class Validated:
    """A topology with every rule satisfied, and its marked graph. Only `validate` makes one."""

    topology: Topology
    graph: MarkedGraph
    warnings: tuple[Diagnostic, ...] = ()


def diagnose(topology: Topology) -> list[Diagnostic]:
    """Every fault, warning and advice in the order of the file; of an abstract one LF001-LF005 alone."""
    found = list(faults(topology))
    if not topology.abstract and not _errors(found):
        found += advice(topology, marked_graph(topology), lambda other: not _errors(_faults(other)))
    return sorted(found, key=lambda one: (one.location, one.code))


def faults(topology: Topology) -> list[Diagnostic]:
    """As `diagnose`, in no certain order and without advice, which costs more than all the rest."""
    found = [*shape(topology), *names(topology), *types(topology)]
    if not found and not topology.abstract:
        found = list(_faults(topology))
        if not _errors(found):
            found += unvisited(topology)
    return found


def _errors(found: Iterable[Diagnostic]) -> bool:
    return any(one.severity == "error" for one in found)


def _faults(topology: Topology) -> Iterator[Diagnostic]:
    """The faults of a topology that has none of LF001-LF005: all that can be decided."""
    known = facts(topology)
    graph = marked_graph(topology)
    turnless = [*structure(topology), *late_turns(topology, graph)]
    uncounted = list(tenures(known))
    broken = {fault.buffer for fault in uncounted if fault.buffer is not None}
    yield from turnless
    yield from uncounted
    ways = custody(known)
    yield from holding(known, ways)
    yield from handing(known, ways)
    yield from generations(known)
    orderless = any(fault.code in ("LF101", "LF102", "LF302") for fault in turnless)
    stuck = [] if orderless else list(deadlocks(topology, graph))
    yield from stuck
    if orderless or stuck:
        yield from written(known, None, broken)
        return
    yield from written(known, graph, broken)
    yield from lifetime(known, graph, broken)
    yield from races(known, graph)
    yield from unreached_limit(topology)
    yield from emission(known, graph)


def validate(topology: Topology) -> Validated:
    """The proof; raises `TopologyError` with every diagnostic where there is an error among them."""
    if topology.abstract:
        raise TopologyError([_abstract(topology)])
    found = diagnose(topology)
    if _errors(found):
        raise TopologyError(found)
    return Validated(topology, marked_graph(topology), tuple(found))


def _abstract(topology: Topology) -> Diagnostic:
    message = f"`{topology.topology}` is abstract: a base for others, with no lanes to run on"
    return Diagnostic(topology.place("abstract"), "LF002", message, "use a topology that extends it")
