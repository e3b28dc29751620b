"""LF501-LF503: whether an executor fits a topology.

A file's promises must be kept by the implementation (what a node writes, gives and emits), since the proof
rests on them; and what the implementation needs must be allowed by the file, which may allow more reads.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from graph.diagnostics import Diagnostic
from graph.node import Executor, Node, Ports
from graph.topology import Topology, Use, parse_use


def check_fit(topology: Topology, executor: Executor) -> list[Diagnostic]:
    """Every way in which the executor does not fit; LF501 only where there is no fallback."""
    return [*_capabilities(topology, executor), *_nodes(topology, executor), *_routes(topology, executor)]


def missing_capabilities(topology: Topology, executor: Executor) -> tuple[str, ...]:
    """What the topology requires and the executor lacks, in the order of the file."""
    return tuple(name for name in topology.requires if name not in executor.capabilities)


def _capabilities(topology: Topology, executor: Executor) -> Iterator[Diagnostic]:
    if topology.fallback is not None:
        return
    for name in missing_capabilities(topology, executor):
        index = topology.requires.index(name)
        have = ", ".join(sorted(executor.capabilities)) or "none"
        yield Diagnostic(
            topology.place("requires", index),
            "LF501",
            f"the executor lacks `{name}` (it has: {have}), and there is no fallback",
            "name a `fallback` that needs less, or use an executor that has it",
        )


def _routes(topology: Topology, executor: Executor) -> Iterator[Diagnostic]:
    known = topology.steps_routes()
    for route in executor.routes:
        if route not in known:
            close = difflib.get_close_matches(route, known, 1)
            hint = f"rename `{close[0]}`, or add" if close else "add"
            yield Diagnostic(
                topology.place("routes"),
                "LF503",
                f"the application needs route `{route}`; the routes are: {', '.join(known)}",
                f"{hint} `{route}` to `routes` with the nodes that such a step visits",
                route=route,
            )


def _nodes(topology: Topology, executor: Executor) -> Iterator[Diagnostic]:
    for name in topology.nodes:
        node = executor.nodes.get(name)
        if node is None:
            known = ", ".join(executor.nodes) or "none"
            yield _fault(
                topology, name, "has no implementation in the executor", f"implement it; it has: {known}"
            )
        elif isinstance(node, type):
            what = f"is implemented by the class {node.__name__} itself"
            yield _fault(topology, name, what, f"give the executor an instance: {node.__name__}()")
        elif not isinstance(node, Node):
            what = f"is implemented by {type(node).__name__}, which is no node"
            yield _fault(topology, name, what, "give it `ports`, `start`, `run` and `stop`")
        else:
            yield from _kind(topology, name, node)
            if node.ports is not None:
                yield from _ports(topology, name, node.ports)


def _kind(topology: Topology, name: str, node: Node) -> Iterator[Diagnostic]:
    """A class may say which kind it implements: what the file allows that kind is what it was written for."""
    kind, declared = getattr(node, "kind", None), topology.nodes[name].kind
    if kind is not None and kind != declared:
        what = f"is implemented by {type(node).__name__}, a {kind}; the file says {declared}"
        yield _fault(topology, name, what, f"make `{name}` a {kind}, or implement it as a {declared}")


def _ports(topology: Topology, name: str, ports: Ports) -> Iterator[Diagnostic]:
    yield from _uses(topology, name, ports)
    yield from _types(topology, name, ports)
    yield from _values(topology, name, ports)
    declared = topology.nodes[name].emits
    if ports.emits and declared is None:
        yield _fault(topology, name, "emits, and the file does not say so", f"add `emits` to `{name}`")
    elif declared is not None and not ports.emits:
        yield _fault(topology, name, f"does not emit to `{declared}`", f"take `emits` off `{name}`")


def _uses(topology: Topology, name: str, ports: Ports) -> Iterator[Diagnostic]:
    node = topology.nodes[name]
    used = {use.buffer for use in (*node.reads, *node.writes)}
    writes, reads = _by_field(topology, node.writes), _by_field(topology, (*node.reads, *node.writes))
    for verb, ours, theirs in (("reads", ports.reads, reads), ("writes", ports.writes, writes)):
        for use in map(parse_use, ours):
            optional = use.buffer in ports.optional and use.buffer not in used
            if not optional and not _by_field(topology, [use]) <= theirs:
                what = f"{verb} `{use}`, and the file does not say so"
                yield _fault(topology, name, what, f"add `{use}` to the {verb} of `{name}`", use.buffer)
    written = _by_field(topology, map(parse_use, ports.writes))
    for use in sorted(writes - written, key=str):
        yield _fault(
            topology, name, f"does not write `{use}`", f"take `{use}` off the writes of `{name}`", use.buffer
        )


def _types(topology: Topology, name: str, ports: Ports) -> Iterator[Diagnostic]:
    for buffer, expected in ports.types.items():
        declared = topology.buffers.get(buffer)
        if declared is not None and declared.type != expected:
            what = f"expects `{buffer}` to be {expected}; it is {declared.type}"
            yield _fault(topology, name, what, f"give `{buffer}` the type {expected}", buffer)


def _values(topology: Topology, name: str, ports: Ports) -> Iterator[Diagnostic]:
    arriving = {edge.value for key, edge in topology.edges.items() if key.consumer == name}
    leaving = {edge.value for key, edge in topology.edges.items() if key.producer == name} - {None}
    for verb, ours, theirs in (("takes", ports.takes, arriving), ("gives", ports.gives, leaving)):
        side = "into" if verb == "takes" else "out of"
        for value, expected in ours.items():
            if value not in ports.optional and expected not in theirs:
                what = f"{verb} `{value}`, a {expected}, and no edge {side} it has that value"
                yield _fault(topology, name, what, f"add `value: {expected}` to an edge {side} `{name}`")
    for missing in sorted(str(value) for value in leaving - set(ports.gives.values())):
        what = f"gives no {missing}, which an edge out of it has as its value"
        yield _fault(topology, name, what, f"take `value: {missing}` off the edges out of `{name}`")


def _by_field(topology: Topology, uses: Iterable[Use]) -> set[Use]:
    """The uses with each whole buffer replaced by its fields; what has no fields stays whole."""
    found: set[Use] = set()
    for use in uses:
        fields = topology.fields(use.buffer) if use.buffer in topology.buffers and use.field is None else ()
        found.update((use._replace(field=field) for field in fields) if fields else (use,))
    return found


def _fault(topology: Topology, node: str, what: str, mend: str, buffer: str | None = None) -> Diagnostic:
    return Diagnostic(
        topology.place("nodes", node), "LF502", f"`{node}` {what}", mend, nodes=(node,), buffer=buffer
    )
