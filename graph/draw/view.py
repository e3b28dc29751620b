"""What a picture of a topology shows, apart from where it is put.

A view is cut down to one route where only that is asked for. It can be had of every topology without
LF001-LF005 and LF101: an unsound one is drawn with its faults at the nodes concerned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from graph.diagnostics import Diagnostic
from graph.render.text import printable
from graph.topology import EdgeKey, Kind, Topology

Style = Literal["carries", "lends", "value", "order"]
STYLES: tuple[Style, ...] = ("carries", "lends", "value", "order")

NO_LANE = "no lane"
"""The band of nodes that an abstract topology puts on no lane."""


@dataclass(frozen=True)
class NodeView:
    """A node as drawn. `position` counts from 1 in its lane; `routes` is empty where all have it."""

    name: str
    kind: Kind
    lane: str
    position: int
    lag: int
    routes: tuple[str, ...]
    acquires: tuple[str, ...]
    releases: tuple[str, ...]
    emits: str | None
    codes: tuple[str, ...]
    """The codes of the faults at this node."""

    @property
    def title(self) -> str:
        """Its name, with its lag where it has one."""
        return f"{self.name}@{self.lag}" if self.lag else self.name


@dataclass(frozen=True)
class Link:
    """An edge as it is drawn."""

    key: EdgeKey
    carries: tuple[str, ...]
    lends: tuple[str, ...]
    value: str | None

    @property
    def does(self) -> tuple[Style, ...]:
        """All that it does, the strongest first."""
        done: tuple[tuple[Style, object], ...] = (
            ("carries", self.carries),
            ("lends", self.lends),
            ("value", self.value),
        )
        return tuple(style for style, there in done if there) or ("order",)

    @property
    def style(self) -> Style:
        """The strongest thing that it does: how its line is drawn."""
        return self.does[0]


@dataclass(frozen=True)
class Band:
    """A lane with its nodes in program order."""

    name: str
    worker: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """The graph to be drawn; `topology` has only what is shown."""

    title: str
    summary: str
    topology: Topology
    bands: tuple[Band, ...]
    nodes: dict[str, NodeView]
    links: tuple[Link, ...]
    faults: tuple[Diagnostic, ...]

    def band_of(self, node: str) -> int:
        """The place of the node's lane among the bands."""
        return next(i for i, band in enumerate(self.bands) if node in band.nodes)


def view(topology: Topology, route: str | None = None, diagnostics: Sequence[Diagnostic] = ()) -> View:
    """The view of a topology, or of one of its routes; `diagnostics` of the whole topology mark the nodes."""
    shown = topology if route is None else _restricted(topology, route)
    faults = tuple(one for one in diagnostics if one.severity == "error")
    bands = _bands(shown)
    title = topology.topology or "topology"
    return View(
        title=printable(title if route is None else f"{title}, route {route}"),
        summary=printable(topology.summary),
        topology=shown,
        bands=bands,
        nodes={node.name: node for node in _nodes(shown, topology, bands, faults)},
        links=tuple(Link(key, edge.carries, edge.lends, edge.value) for key, edge in shown.edges.items()),
        faults=faults,
    )


def _restricted(topology: Topology, route: str) -> Topology:
    """The topology with one route: its nodes, what runs them and what they touch."""
    members = set(topology.steps_routes()[route])
    nodes = {name: node for name, node in topology.nodes.items() if name in members}
    touched = {
        buffer
        for node in nodes.values()
        for buffer in (*node.acquires, *node.releases, *(use.buffer for use in (*node.reads, *node.writes)))
    }
    lanes = {
        name: lane.model_copy(update={"nodes": tuple(entry for entry in lane.nodes if entry.node in members)})
        for name, lane in topology.lanes.items()
        if any(entry.node in members for entry in lane.nodes)
    }
    edges = {key: edge for key, edge in topology.edges.items() if {key.producer, key.consumer} <= members}
    buffers = {name: buffer for name, buffer in topology.buffers.items() if name in touched}
    routes = {route: topology.steps_routes()[route]}
    return topology.model_copy(
        update={"nodes": nodes, "edges": edges, "lanes": lanes, "buffers": buffers, "routes": routes}
    )


def _bands(topology: Topology) -> tuple[Band, ...]:
    bands = [
        Band(name, lane.worker, tuple(entry.node for entry in lane.nodes))
        for name, lane in topology.lanes.items()
    ]
    placed = {node for band in bands for node in band.nodes}
    if left := tuple(name for name in topology.nodes if name not in placed):
        bands.append(Band(NO_LANE, "", left))
    return tuple(bands)


def _nodes(
    shown: Topology, whole: Topology, bands: Sequence[Band], faults: Sequence[Diagnostic]
) -> Iterator[NodeView]:
    """The nodes shown, with their places in the whole lane's program."""
    entries = {
        entry.node: (position, entry.lag)
        for lane in whole.lanes.values()
        for position, entry in enumerate(lane.nodes, 1)
    }
    routes = shown.steps_routes()
    for band in bands:
        for name in band.nodes:
            node = shown.nodes[name]
            position, lag = entries.get(name, (0, 0))
            working = tuple(route for route, members in routes.items() if name in members)
            yield NodeView(
                name=name,
                kind=node.kind,
                lane=band.name,
                position=position,
                lag=lag,
                routes=() if len(working) == len(routes) else working or ("no route",),
                acquires=node.acquires,
                releases=node.releases,
                emits=node.emits,
                codes=tuple(dict.fromkeys(one.code for one in faults if name in one.nodes[:1])),
            )
