"""Single changes to a topology, each with its edits, the sentence for the help line, and what it costs.

The cost orders the search: about 10 for the natural change that keeps all that the file says, more where the
order of the lanes or the meaning shifts, and near 100 where something that the author wanted would be gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from graph.edits import Edit, Remove, Rename, Set
from graph.topology import EdgeKey, Entry, Topology, Use

Part = Literal["carries", "lends"]
Port = Literal["acquires", "releases", "reads", "writes"]
USES: tuple[Port, ...] = ("reads", "writes")
PARTS: tuple[Part, ...] = ("carries", "lends")


@dataclass(frozen=True)
class Change:
    """Edits that belong together; `help` is an imperative sentence without a full stop."""

    edits: tuple[Edit, ...]
    help: str
    cost: int

    def __add__(self, other: Change) -> Change:
        """Both, where they touch different things; the sentence names each."""
        joined = f"{self.help} and {other.help}" if self.help else other.help
        return Change((*self.edits, *other.edits), joined, self.cost + other.cost)

    def costing(self, cost: int) -> Change:
        return Change(self.edits, self.help, cost)


NOTHING = Change((), "", 0)


def slots(topology: Topology, buffer: str, count: int) -> Change:
    more = count - topology.buffers[buffer].slots
    return Change(
        (Set(("buffers", buffer, "slots"), count),), f"give `{buffer}` {count} slots", 8 + 2 * abs(more)
    )


def edge(
    topology: Topology, key: EdgeKey, carries: Sequence[str] = (), lends: Sequence[str] = ()
) -> Change | None:
    """The edge with these buffers beside what it has; None where it has them or leads nowhere."""
    known = topology.edges.get(key)
    if key.producer == key.consumer and key.back == 0:
        return None
    parts: dict[Part, list[str]] = {"carries": list(carries), "lends": list(lends)}
    if known is None:
        given = {part: buffers for part, buffers in parts.items() if buffers}
        spelt = "".join(f"{part}: [{', '.join(buffers)}]" for part, buffers in given.items())
        text = f"add `{key}: {{{spelt}}}`" if given else f"add `{key}`"
        return Change((Set(("edges", str(key)), given),), text, 14 if given else 12)
    change = NOTHING
    for part, buffers in parts.items():
        has: tuple[str, ...] = getattr(known, part)
        fresh = [buffer for buffer in buffers if buffer not in has]
        if fresh:
            verb = part.removesuffix("s").replace("carrie", "carry")
            change += Change(
                (Set(("edges", str(key), part), [*has, *fresh]),), f"let `{key}` {verb} {listed(fresh)}", 8
            )
    return change if change.edits else None


def handed_otherwise(topology: Topology, key: EdgeKey, buffer: str, to: Part | None) -> Change:
    """The buffer moved between `carries` and `lends` of an edge; taken off the edge where `to` is None."""
    known = topology.edges[key]
    edits: list[Edit] = []
    for part in ("carries", "lends"):
        has: tuple[str, ...] = getattr(known, part)
        if part == to and buffer not in has:
            edits.append(Set(("edges", str(key), part), [*has, buffer]))
        elif part != to and buffer in has:
            edits.append(_listed_again(("edges", str(key), part), [name for name in has if name != buffer]))
    if to is None:
        return Change(tuple(edits), f"take `{buffer}` off `{key}`", 30)
    verb = {"lends": "lend", "carries": "carry"}[to]
    other = {"lends": "carrying", "carries": "lending"}[to]
    return Change(tuple(edits), f"let `{key}` {verb} `{buffer}` instead of {other} it", 10)


def stepped_back(topology: Topology, key: EdgeKey, back: int) -> Change | None:
    """The edge from another step's producer; None where that edge is there already."""
    other = key._replace(back=back)
    if other in topology.edges:
        return None
    return Change((Rename(("edges", str(key)), str(other)),), f"write `{other}` instead of `{key}`", 14)


def without_edge(key: EdgeKey) -> Change:
    return Change((Remove(("edges", str(key))),), f"remove `{key}`", 45)


def with_port(topology: Topology, node: str, port: Port, use: Use | str) -> Change:
    """`use` added to what the node acquires, releases, reads or writes."""
    has = [str(one) for one in getattr(topology.nodes[node], port)]
    verb = port.removesuffix("s")
    return Change((Set(("nodes", node, port), [*has, str(use)]),), f"let `{node}` {verb} `{use}`", 10)


def without_port(topology: Topology, node: str, port: Port, buffer: str, back: int = 0) -> Change:
    """The node no longer touches that buffer at that step through that port."""
    has = getattr(topology.nodes[node], port)
    kept = [str(one) for one in has if not _is(one, buffer, back)]
    gone = listed([str(one) for one in has if _is(one, buffer, back)])
    return Change(
        (_listed_again(("nodes", node, port), kept),), f"take {gone} out of what `{node}` {port}", 80
    )


def reread(topology: Topology, node: str, port: Port, uses: Sequence[Use]) -> Change:
    """The node's uses through a port replaced by `uses`."""
    text = f"let `{node}` {port.removesuffix('s')} {listed([str(use) for use in uses])} alone"
    return Change((Set(("nodes", node, port), [str(use) for use in uses]),), text, 40)


def program(topology: Topology, lane: str, entries: Sequence[Entry], text: str, cost: int) -> Change:
    """Another program for a lane; a lane left without one goes."""
    if not entries:
        return Change((Remove(("lanes", lane)),), text, cost)
    return Change((Set(("lanes", lane, "nodes"), [str(entry) for entry in entries]),), text, cost)


def lagged(topology: Topology, node: str, lag: int) -> Change:
    """Another lag for the node's entry."""
    lane = lane_of(topology, node)
    entries = topology.lanes[lane].nodes
    changed = [entry._replace(lag=lag) if entry.node == node else entry for entry in entries]
    before = next(entry for entry in entries if entry.node == node)
    text = f"write `{Entry(node, lag)}` instead of `{before}` on lane `{lane}`"
    return program(topology, lane, changed, text, 10 + 2 * abs(lag - before.lag))


def placed(topology: Topology, node: str, lane: str, place: int, lag: int) -> Change:
    """The node's entry at `place` among the other entries of a lane, and on no other lane."""
    change = NOTHING
    for name, program_ in topology.lanes.items():
        kept = [entry for entry in program_.nodes if entry.node != node]
        if name == lane:
            entries = [*kept[:place], Entry(node, lag), *kept[place:]]
            change += program(topology, lane, entries, "", 0)
        elif len(kept) < len(program_.nodes):
            change += program(topology, name, kept, "", 0)
    others = [entry for entry in topology.lanes[lane].nodes if entry.node != node]
    where = f"behind `{others[place - 1]}`" if place else f"in front of `{others[0]}`" if others else "alone"
    was = entries_of(topology, node)
    stays = [name for name, _ in was] == [lane]
    spelt = f"`{Entry(node, lag)}`" if lag or any(entry.lag for _, entry in was) else f"`{node}`"
    if stays:
        text = f"move {spelt} {where} on lane `{lane}`"
    else:
        text = f"{'move' if was else 'put'} {spelt} {'to' if was else 'on'} lane `{lane}`, {where}"
    return Change(change.edits, text, 14 if stays else 22)


def visited(topology: Topology, route: str, node: str) -> Change:
    """The node added to a route, in front of the first node there that comes behind it in the file."""
    order = list(topology.nodes)
    members = topology.routes[route]
    behind = (
        index for index, name in enumerate(members) if name in order and order.index(name) > order.index(node)
    )
    place = next(behind, len(members))
    return Change(
        (Set(("routes", route), [*members[:place], node, *members[place:]]),),
        f"add `{node}` to route `{route}`",
        13,
    )


def unvisited(topology: Topology, route: str, nodes: Sequence[str]) -> Change:
    """The nodes taken out of a route."""
    kept = [name for name in topology.routes[route] if name not in nodes]
    return Change(
        (Set(("routes", route), kept),), f"take {listed(nodes)} out of route `{route}`", 12 + 6 * len(nodes)
    )


def in_flight(topology: Topology, most: int) -> Change:
    """Another limit; one step in flight is no pipeline and comes last."""
    cost = 95 if most == 1 else 14 if most > (topology.in_flight or 0) else 16
    return Change((Set(("in_flight",), most),), f"write `in_flight: {most}`", cost)


def listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def entries_of(topology: Topology, node: str) -> list[tuple[str, Entry]]:
    """The node's entries, with their lanes."""
    return [
        (lane, entry)
        for lane, program_ in topology.lanes.items()
        for entry in program_.nodes
        if entry.node == node
    ]


def lane_of(topology: Topology, node: str) -> str:
    return entries_of(topology, node)[0][0]


def lag_of(topology: Topology, node: str) -> int:
    return entries_of(topology, node)[0][1].lag


def _is(one: Use | str, buffer: str, back: int) -> bool:
    return (one.buffer, one.back) == (buffer, back) if isinstance(one, Use) else one == buffer


def _listed_again(path: tuple[str, ...], values: list[str]) -> Edit:
    return Set(path, values) if values else Remove(path)
