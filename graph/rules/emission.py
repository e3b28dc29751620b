"""LF401: what feeds one output stream does so in the order of the steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from graph.diagnostics import Clash, Diagnostic, Moment
from graph.order import MarkedGraph
from graph.rules.facts import Facts


def emission(facts: Facts, graph: MarkedGraph) -> Iterator[Diagnostic]:
    """One diagnostic for each pair of nodes that may emit out of order."""
    streams: dict[str, list[str]] = defaultdict(list)
    for name, node in facts.topology.nodes.items():
        if node.emits is not None and facts.working[name]:
            streams[node.emits].append(name)
    for stream, nodes in streams.items():
        for one, two in combinations(nodes, 2):
            for first, second in ((one, two), (two, one)):
                if not graph.before(first, second, 1):
                    yield _overtaken(facts, stream, first, second)
                    break


def _overtaken(facts: Facts, stream: str, first: str, second: str) -> Diagnostic:
    moments = (Moment(first, 0, facts.working[first][0]), Moment(second, 1, facts.working[second][0]))
    return Diagnostic(
        facts.topology.place("nodes", second, "emits"),
        "LF401",
        f"`{second}` of step 1 may emit to `{stream}` before `{first}` of step 0 has",
        f"let `{second}` wait for `{first}` of the step before, or put both on one lane with one lag",
        nodes=(second, first),
        route=facts.named(moments[1].route),
        clash=Clash(*moments),
    )
