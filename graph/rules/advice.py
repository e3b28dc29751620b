"""LF601-LF602: what is sound and slower than it need be."""

from __future__ import annotations

from collections.abc import Iterator

from graph.diagnostics import Diagnostic
from graph.order import MarkedGraph
from graph.topology import Topology


def advice(topology: Topology, graph: MarkedGraph) -> Iterator[Diagnostic]:
    return iter(())
