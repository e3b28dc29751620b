"""What nodes, firings and buffers wait for, as data for the page's script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graph.diagnostics import Firing
from graph.draw.lifetimes import lifetimes
from graph.order import Arc, marked_graph
from graph.schedule import waits
from graph.topology import Topology


def page_data(topology: Topology, schedules: Mapping[str, Sequence[Firing]], steps: int) -> dict[str, Any]:
    """By node and by firing: what it waits for; by buffer: its nodes and its life."""
    return {
        "nodes": {name: {"waits": list(_node_waits(topology, name))} for name in topology.nodes},
        "firings": {
            route: {
                f"{one.node}:{one.step}": list(_firing_waits(topology, one, firings, steps))
                for one in firings
            }
            for route, firings in schedules.items()
        },
        "buffers": dict(_buffers(topology)),
    }


def _node_waits(topology: Topology, name: str) -> Iterator[dict[str, str]]:
    graph = marked_graph(topology)
    for arc in graph.arcs:
        if arc.target == name:
            back = arc.tokens + graph.lag[arc.source] - graph.lag[arc.target]
            yield {
                "node": arc.source,
                "buffer": arc.buffer or "",
                "text": f"{arc.source} of {_step(back)} ({_why(arc)})",
            }


def _firing_waits(
    topology: Topology, firing: Firing, firings: Sequence[Firing], steps: int
) -> Iterator[dict[str, str]]:
    there = {(one.node, one.step): one for one in firings}
    for arc, step in waits(topology, firing.node, firing.step, steps):
        if source := there.get((arc.source, step)):
            text = f"{source.node} of step {step} ({_why(arc)}), through at {source.end:g} ms"
            yield {"firing": f"{source.node}:{step}", "text": text}


def _step(back: int) -> str:
    if back == 0:
        return "the same step"
    return f"step k-{back}" if back > 0 else f"step k+{-back}"


def _why(arc: Arc) -> str:
    if arc.reason == "edge":
        return f"edge {arc.edge}"
    return {"lane": "the lane's order", "slot": f"a slot of {arc.buffer}"}.get(
        arc.reason, "the limit in_flight"
    )


def _buffers(topology: Topology) -> Iterator[tuple[str, dict[str, Any]]]:
    found = lifetimes(topology)
    for name in topology.buffers:
        there = [one for one in found if one.name == name]
        turns = [turn for one in there for turn in (*one.owners, *one.users)]
        yield (
            name,
            {
                "nodes": list(dict.fromkeys(turn.node for turn in turns)),
                "life": [text for one in there for text in _life(one.owners, one.users, one.returning)],
            },
        )


def _life(owners: Sequence[object], users: Sequence[object], returning: str) -> Iterator[str]:
    if owners:
        yield f"owned by {', then '.join(map(str, owners))}"
    if users:
        yield f"used by {', '.join(map(str, users))}"
    if returning:
        yield returning
