"""From a topology to a proof that it is sound, or to every reason why it is not, at once."""

from __future__ import annotations

from dataclasses import dataclass

from graph.diagnostics import Diagnostic, TopologyError
from graph.order import MarkedGraph, marked_graph
from graph.topology import Topology


@dataclass(frozen=True)
class Validated:
    """A topology with every rule satisfied, and its marked graph. Only `validate` makes one."""

    topology: Topology
    graph: MarkedGraph
    warnings: tuple[Diagnostic, ...] = ()


def diagnose(topology: Topology) -> list[Diagnostic]:
    """Every fault, warning and advice, in the order of the file."""
    del topology
    return []


def validate(topology: Topology) -> Validated:
    """The proof; raises `TopologyError` with every diagnostic where there is an error among them."""
    found = diagnose(topology)
    if any(diagnostic.severity == "error" for diagnostic in found):
        raise TopologyError(found)
    return Validated(topology, marked_graph(topology), tuple(found))
