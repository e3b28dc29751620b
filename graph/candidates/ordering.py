"""Changes that put one firing in front of another: LF204-LF207 and LF401."""

from __future__ import annotations

from collections.abc import Iterator

from graph.candidates.changes import (
    USES,
    Change,
    edge,
    entries_of,
    handed_otherwise,
    in_flight,
    lag_of,
    lagged,
    lane_of,
    listed,
    placed,
    slots,
    with_port,
    without_port,
)
from graph.diagnostics import Clash, Diagnostic
from graph.edits import Remove, Set
from graph.topology import EdgeKey, Topology


def ordered(topology: Topology, first: str, second: str, steps: int) -> Iterator[Change]:
    """Ways to have `first` on step k through before `second` on step k + steps starts."""
    if steps >= 0 and (made := edge(topology, EdgeKey(first, steps, second))):
        yield made
    if first == second or not (entries_of(topology, first) and entries_of(topology, second)):
        return  # LF208 is decided even where a node is on no lane
    yield from _rearranged(topology, first, second, steps)
    yield from _later(topology, first, second, steps)


def _rearranged(topology: Topology, first: str, second: str, steps: int) -> Iterator[Change]:
    """Both on one lane, `first` in front, with lags that fit; where they are already, in the right order."""
    here, there = lane_of(topology, first), lane_of(topology, second)
    lag_first, lag_second = lag_of(topology, first), lag_of(topology, second)
    behind = [entry.node for entry in topology.lanes[here].nodes if entry.node != second]
    if lag_first - steps >= 0:
        place = behind.index(first) + 1
        last = len(behind)
        yield placed(topology, second, here, place, lag_first - steps)
        if last != place:
            yield placed(topology, second, here, last, lag_first - steps)
    before = [entry.node for entry in topology.lanes[there].nodes if entry.node != first]
    if lag_second + steps >= 0:
        yield placed(topology, first, there, before.index(second), lag_second + steps)
        if here == there and lag_first != lag_second + steps:
            yield placed(topology, first, there, before.index(second), lag_first)


def _later(topology: Topology, first: str, second: str, steps: int) -> Iterator[Change]:
    """Another lag for either: `second` falls back, or `first` comes up."""
    lag_first, lag_second = lag_of(topology, first), lag_of(topology, second)
    for more in range(1, max(1, -steps) + 1):
        yield lagged(topology, second, lag_second + more)
    for less in range(1, min(lag_first, 2) + 1):
        yield lagged(topology, first, lag_first - less)


def order_faults(topology: Topology, diagnostic: Diagnostic) -> Iterator[Change]:
    """LF204-LF207 and LF401, by their clash."""
    clash, buffer = diagnostic.clash, diagnostic.buffer
    if clash is None:
        return
    if diagnostic.code == "LF204" and buffer is not None:
        yield from _acquired_earlier(topology, clash, buffer)
    if diagnostic.code == "LF205" and buffer is not None:
        yield from _released_later(topology, clash, buffer)
    first, second = clash.first.node, clash.second.node
    steps = clash.second.step - clash.first.step
    yield from ordered(topology, first, second, steps)
    if diagnostic.code == "LF206" and steps == 0:
        yield from ordered(topology, second, first, 0)
    if diagnostic.code == "LF207":
        yield from _apart_at_every_distance(topology, first, second, steps)
        yield from _fewer_steps(topology, steps)
    if diagnostic.code == "LF401":
        yield from _in_turn(topology, first, second)
        yield from _other_streams(topology, first, second)
    if buffer is not None and diagnostic.code != "LF401":
        yield from _unused(topology, diagnostic, buffer)


def _acquired_earlier(topology: Topology, clash: Clash, buffer: str) -> Iterator[Change]:
    acquirer, user = clash.first.node, clash.second.node
    steps = clash.second.step - clash.first.step
    if made := edge(topology, EdgeKey(acquirer, steps, user), lends=[buffer]):
        yield made
    if steps == 0 and topology.nodes[user].kind in ("prepare", "bind", "dispatch"):
        yield acquired_by(topology, user, buffer)


def acquired_by(topology: Topology, node: str, buffer: str) -> Change:
    """The node acquires the buffer instead of those who do, and hands it on along edges to them."""
    change = with_port(topology, node, "acquires", buffer)
    for other in topology.acquirers(buffer):
        change += without_port(topology, other, "acquires", buffer)
        key = EdgeKey(node, 0, other)
        if key in topology.edges and (carried := edge(topology, key, carries=[buffer])):
            change += carried
    return Change(
        change.edits, f"let `{node}` acquire `{buffer}` instead of {listed(topology.acquirers(buffer))}", 24
    )


def _released_later(topology: Topology, clash: Clash, buffer: str) -> Iterator[Change]:
    user, release = clash.first.node, clash.second.node
    steps = clash.second.step - clash.first.step
    if steps < 0:
        lag = lag_of(topology, release) - steps
        count = topology.buffers[buffer].slots - steps
        both = lagged(topology, release, lag) + slots(topology, buffer, count)
        yield both.costing(both.cost - 6)
    for other, node in topology.nodes.items():
        if other != release and node.kind == "release":
            moved = without_port(topology, release, "releases", buffer) + with_port(
                topology, other, "releases", buffer
            )
            for key, known in topology.edges.items():
                if key.consumer == release and key.back == 0 and buffer in known.carries:
                    moved += handed_otherwise(topology, key, buffer, None)
                    if carried := edge(topology, EdgeKey(user, 0, other), carries=[buffer]):
                        moved += carried
            yield Change(moved.edits, f"release `{buffer}` in `{other}` instead of `{release}`", 26)


def _apart_at_every_distance(topology: Topology, first: str, second: str, steps: int) -> Iterator[Change]:
    """Persistent buffers: the pair must be in order at each distance, so often it takes an edge each way.

    Nodes that share no route never meet within a step: there each waits for the other's step before.
    """
    meet = any(first in members and second in members for members in topology.steps_routes().values())
    for producer, consumer in ((first, second), (second, first)):
        for back in (0, 1) if meet else (1,):
            if (producer, back, consumer) != (first, steps, second) and (
                made := edge(topology, EdgeKey(producer, back, consumer))
            ):
                yield made.costing(made.cost + 1)
    for one, other in ((first, second), (second, first)):
        for back in (0, 1) if meet else (1,):
            there, return_ = edge(topology, EdgeKey(one, back, other)), edge(topology, EdgeKey(other, 1, one))
            if there and return_ and one != other:
                yield (there + return_).costing(18)


def _fewer_steps(topology: Topology, steps: int) -> Iterator[Change]:
    """The limit that keeps steps so far apart out of each other's way."""
    for most in dict.fromkeys((max(steps, 1), 1)):
        if topology.in_flight is None or most < topology.in_flight:
            change = in_flight(topology, most)
            yield change.costing(max(change.cost, 35))


def _in_turn(topology: Topology, first: str, second: str) -> Iterator[Change]:
    """Both emitters before each other's next step."""
    one, two = edge(topology, EdgeKey(first, 1, second)), edge(topology, EdgeKey(second, 1, first))
    if one and two and first != second:
        yield (one + two).costing(18)
    lags = lag_of(topology, first), lag_of(topology, second)
    for node, other in ((first, min(lags)), (second, min(lags)), (first, max(lags)), (second, max(lags))):
        if lag_of(topology, node) != other:
            yield lagged(topology, node, other).costing(11 if other == min(lags) else 15)


def _other_streams(topology: Topology, first: str, second: str) -> Iterator[Change]:
    for node in dict.fromkeys((second, first)):
        fresh = f"{topology.nodes[node].emits}_{node}"
        yield Change(
            (Set(("nodes", node, "emits"), fresh),), f"let `{node}` emit a stream of its own, `{fresh}`", 60
        )
    for node in dict.fromkeys((second, first)):
        yield Change((Remove(("nodes", node, "emits")),), f"let `{node}` emit nothing", 90)


def _unused(topology: Topology, diagnostic: Diagnostic, buffer: str) -> Iterator[Change]:
    """Last of all: one of the two no longer touches the buffer."""
    for node in diagnostic.nodes[:2]:
        for port in USES:
            for back in dict.fromkeys(
                use.back for use in getattr(topology.nodes[node], port) if use.buffer == buffer
            ):
                yield without_port(topology, node, port, buffer, back)
