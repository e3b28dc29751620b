"""What may mend a fault: candidate changes by code, natural ones first, none of them proved yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graph.candidates.changes import Change as Change
from graph.candidates.content import anonymous, unwritten
from graph.candidates.names import misread_types, unknown_names
from graph.candidates.ordering import order_faults
from graph.candidates.ownership import miscounts, misdirected, unheld
from graph.candidates.progress import deadlock, earlier_turn, unreached
from graph.candidates.structure import beyond_kind, circle, edge_type, lanes, persistence, unrouted
from graph.diagnostics import Diagnostic
from graph.topology import Topology

_BY_CODE: dict[str, Callable[[Topology, Diagnostic], Iterator[Change]]] = {
    "LF002": persistence,
    "LF003": unknown_names,
    "LF005": misread_types,
    "LF101": lanes,
    "LF102": circle,
    "LF103": beyond_kind,
    "LF104": edge_type,
    "LF105": unrouted,
    "LF201": miscounts,
    "LF202": unheld,
    "LF203": misdirected,
    "LF204": order_faults,
    "LF205": order_faults,
    "LF206": order_faults,
    "LF207": order_faults,
    "LF208": unwritten,
    "LF209": anonymous,
    "LF301": deadlock,
    "LF302": earlier_turn,
    "LF303": unreached,
    "LF401": order_faults,
}


def candidates(topology: Topology, diagnostic: Diagnostic) -> list[Change]:
    """Changes that may remove the fault, cheapest first; none for a code that only a person can mend."""
    generate = _BY_CODE.get(diagnostic.code)
    found = generate(topology, diagnostic) if generate else ()
    return sorted(found, key=lambda change: change.cost)
