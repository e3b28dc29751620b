"""LF208: every field that is read was written in this tenure of the slot, whatever routes the steps take."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from graph.diagnostics import Diagnostic
from graph.order import MarkedGraph
from graph.rules.facts import WHOLE, Access, Facts, path_of


def written(facts: Facts, graph: MarkedGraph | None, broken: Collection[str]) -> Iterator[Diagnostic]:
    """One diagnostic a reader and buffer; without `graph`, only for reads that no node ever writes.

    `broken` are the buffers with LF201. A writer that is not ordered with the reader counts: that is LF206.
    """
    for name, buffer in facts.topology.buffers.items():
        if not buffer.persistent and name not in broken:
            told: set[str] = set()
            for reader in facts.accesses[name]:
                fault = next(_unwritten(facts, graph, name, reader), None)
                if fault is not None and reader.node not in told:
                    told.add(reader.node)
                    yield fault


def _unwritten(facts: Facts, graph: MarkedGraph | None, buffer: str, reader: Access) -> Iterator[Diagnostic]:
    order = (*facts.topology.fields(buffer), WHOLE)
    for field in sorted(reader.reads, key=order.index):
        writers = [w for w in facts.accesses[buffer] if field in w.writes and _in_time(graph, w, reader)]
        for tenure, route in _steps(facts, buffer, reader):
            if not _covered(facts, writers, reader, tenure, route):
                yield _fault(facts, buffer, field, reader, tenure, route)


def _in_time(graph: MarkedGraph | None, writer: Access, reader: Access) -> bool:
    """Whether it is another firing, of a step that exists if the reader's does, and not behind the reader."""
    if writer.back > reader.back or (writer.node, writer.back) == (reader.node, reader.back):
        return False
    return graph is None or not graph.before(reader.node, writer.node, writer.back - reader.back)


def _steps(facts: Facts, buffer: str, reader: Access) -> Iterator[tuple[str, str]]:
    """The route of the step that acquired the slot, with that of the reader's step."""
    for route in facts.working[reader.node]:
        if reader.back == 0:
            yield route, route
        else:
            yield from ((tenure, route) for tenure in facts.routes if facts.acquirers(buffer, tenure))


def _covered(facts: Facts, writers: list[Access], reader: Access, tenure: str, route: str) -> bool:
    """Whether a writer works for sure: in a given route, or in every route of a step in between."""
    given = {0: tenure, reader.back: route}
    for back in dict.fromkeys(writer.back for writer in writers):
        nodes = {writer.node for writer in writers if writer.back == back}
        routes = (given[back],) if back in given else tuple(facts.routes)
        if all(nodes & facts.routes[one] for one in routes):
            return True
    return False


def _fault(facts: Facts, buffer: str, field: str, reader: Access, tenure: str, route: str) -> Diagnostic:
    name = f"{buffer}.{field}" if field else buffer
    path = path_of(
        facts.topology,
        Access(reader.node, reader.back, reader.reads, frozenset()),
        buffer,
        frozenset((field,)),
    )
    writers = [w.node for w in facts.accesses[buffer] if field in w.writes and w.node != reader.node]
    of = f"`{name}@{reader.back}`" if reader.back else f"`{name}`"
    where = ""
    if facts.named(route):
        where = f" in route `{route}`" if not reader.back else f" where that step took route `{tenure}`"
    return Diagnostic(
        facts.topology.place(*path),
        "LF208",
        f"`{reader.node}` reads {of}, which no other node has written by then{where}",
        f"write `{name}` before `{reader.node}`, or read only the fields that are written",
        nodes=tuple(dict.fromkeys((reader.node, *writers))),
        buffer=buffer,
        route=facts.named(tenure),
    )
