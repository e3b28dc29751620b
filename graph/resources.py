"""What nodes share beside lanes and slots: only one of those that hold a resource gets on at a time.

A resource adds a bound to the period: the sum of the durations of the nodes that hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from graph.copies import computing
from graph.topology import Topology

INTERPRETER = "interpreter"
"""The interpreter lock of the process that runs the topology."""
ACCELERATOR = "accelerator"
"""The one device that a run has."""

Holders = Mapping[str, tuple[str, ...]]


class Resource(NamedTuple):
    """A shared resource, the nodes of a route that hold it, and for how long they do in each step."""

    name: str
    nodes: tuple[str, ...]
    duration: Fraction


def holders(topology: Topology, stated: Holders) -> Holders:
    """Who holds which resource: as `stated`, else by assumption.

    Assumed: dispatches hold the accelerator while they run, unless they only copy, and all other nodes the
    interpreter lock.
    A node on a `process` lane has an interpreter of its own and never holds that of the others; one on a
    `stream` lane runs on the device.
    """
    worker = {entry.node: lane.worker for lane in topology.lanes.values() for entry in lane.nodes}
    host = tuple(
        name for name, node in topology.nodes.items() if node.kind != "dispatch" and worker[name] == "thread"
    )
    found = {INTERPRETER: host, ACCELERATOR: computing(topology), **stated}
    found[INTERPRETER] = tuple(name for name in found[INTERPRETER] if worker[name] != "process")
    return found


def resources(held: Holders, members: Iterable[str], times: Mapping[str, Fraction]) -> tuple[Resource, ...]:
    """The resources that nodes of a route hold for some time."""
    route = set(members)
    found = []
    for name, nodes in held.items():
        holding = tuple(node for node in nodes if node in route and times[node])
        if holding:
            found.append(Resource(name, holding, sum((times[node] for node in holding), Fraction(0))))
    return tuple(found)
