"""From a topology to a proof that it is sound, or to every reason why it is not, at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graph.diagnostics import Diagnostic, TopologyError
from graph.order import MarkedGraph, marked_graph
from graph.rules.advice import advice
from graph.rules.emission import emission
from graph.rules.facts import facts
from graph.rules.lifetime import lifetime
from graph.rules.names import names
from graph.rules.ownership import holding, tenures
from graph.rules.progress import deadlocks, late_turns, unreached_limit
from graph.rules.shape import shape
from graph.rules.state import generations, races
from graph.rules.structure import structure, unvisited
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
    found = [*shape(topology), *names(topology), *types(topology)]
    if not found and not topology.abstract:
        found = list(_faults(topology))
        if all(one.severity != "error" for one in found):
            found += unvisited(topology)
    return sorted(found, key=lambda one: (one.location, one.code))


def _faults(topology: Topology) -> Iterator[Diagnostic]:
    """The faults of a topology that has none of LF001-LF005: all that can be decided."""
    known = facts(topology)
    graph = marked_graph(topology)
    unplaced = [*structure(topology), *late_turns(topology, graph)]
    uncounted = list(tenures(known))
    broken = {fault.buffer for fault in uncounted if fault.buffer is not None}
    yield from unplaced
    yield from uncounted
    yield from holding(known)
    yield from generations(known)
    stuck = (
        []
        if {"LF101", "LF102", "LF302"} & {fault.code for fault in unplaced}
        else list(deadlocks(topology, graph))
    )
    yield from stuck
    if stuck or {"LF101", "LF102", "LF302"} & {fault.code for fault in unplaced}:
        yield from written(known, None, broken)
        return
    yield from written(known, graph, broken)
    yield from lifetime(known, graph, broken)
    yield from races(known, graph)
    yield from unreached_limit(topology)
    yield from emission(known, graph)
    yield from advice(topology, graph)


def validate(topology: Topology) -> Validated:
    """The proof; raises `TopologyError` with every diagnostic where there is an error among them."""
    if topology.abstract:
        raise TopologyError([_abstract(topology)])
    found = diagnose(topology)
    if any(diagnostic.severity == "error" for diagnostic in found):
        raise TopologyError(found)
    return Validated(topology, marked_graph(topology), tuple(found))


def _abstract(topology: Topology) -> Diagnostic:
    message = f"`{topology.topology}` is abstract: a base for others, with no lanes to run on"
    return Diagnostic(topology.place("abstract"), "LF002", message, "use a topology that extends it")
