"""Who owns a buffer's slot from acquiring to releasing, and who else uses it, route by route."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graph.rules.custody import Custody, custody
from graph.rules.facts import facts
from graph.topology import Buffer, Node, Topology


@dataclass(frozen=True)
class Turn:
    """A node that has the slot, and what it does with it: `reads`, `writes`, both, or nothing but hold it."""

    node: str
    uses: str

    def __str__(self) -> str:
        return f"{self.node}: {self.uses}" if self.uses else self.node


@dataclass(frozen=True)
class Lifetime:
    """One buffer in the routes where the same nodes have it; `routes` is empty where those are all."""

    name: str
    buffer: Buffer
    routes: tuple[str, ...]
    owners: tuple[Turn, ...]
    """From the node that acquires the slot to the one that releases it; none of a persistent buffer."""
    users: tuple[Turn, ...]
    """Those that use it without owning it."""
    releasers: tuple[str, ...]
    """All that give its slots back, in any route: a slot's next tenant waits for each of them."""

    @property
    def about(self) -> tuple[str, ...]:
        """Its slots and its place, and whose its rows are, in words."""
        count = "1 slot" if self.buffer.slots == 1 else f"{self.buffer.slots} slots"
        what = "persistent" if self.buffer.persistent else count
        keyed = (f"a row per {self.buffer.keyed_by}",) if self.buffer.keyed_by else ()
        return f"{what}, {self.buffer.place}", *keyed

    @property
    def returning(self) -> str:
        """Which node waits for which, for a slot to be free again; empty where none does."""
        if not self.owners:
            return ""
        givers = " and ".join(self.releasers)
        return (
            f"{self.owners[0].node} of step k+{self.buffer.slots} waits for {givers} of step k"
            if givers
            else ""
        )


def lifetimes(topology: Topology) -> list[Lifetime]:
    """Every buffer, in the order of the file; those with slots before the persistent ones."""
    found = [one for name in topology.buffers for one in _of_buffer(topology, name)]
    return sorted(found, key=lambda one: one.buffer.persistent)


def _of_buffer(topology: Topology, name: str) -> Iterator[Lifetime]:
    kept: Mapping[str, Custody] = custody(facts(topology)).get(name, {})
    groups: dict[tuple[tuple[Turn, ...], tuple[Turn, ...]], list[str]] = {}
    routes = topology.steps_routes()
    for route, members in routes.items():
        owners = tuple(_owners(topology, name, set(members), kept[route])) if route in kept else ()
        own = {turn.node for turn in owners}
        users = tuple(
            Turn(node, uses)
            for node in topology.nodes
            if node in members and node not in own and (uses := uses_of(topology.nodes[node], name))
        )
        if owners or users:
            groups.setdefault((owners, users), []).append(route)
    if topology.buffers[name].persistent or not groups:
        users = tuple(dict.fromkeys(turn for _, there in groups for turn in there))
        yield Lifetime(name, topology.buffers[name], (), (), users, ())
        return
    for (owners, users), there in groups.items():
        among = tuple(there) if len(groups) > 1 else ()
        yield Lifetime(name, topology.buffers[name], among, owners, users, topology.releasers(name))


def _owners(topology: Topology, name: str, members: set[str], kept: Custody) -> Iterator[Turn]:
    """Owner after owner; where ownership forks (LF203), all branches."""
    waiting = [node for node in topology.acquirers(name) if node in members]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop(0)
        if node not in seen:
            seen.add(node)
            yield Turn(node, uses_of(topology.nodes[node], name))
            waiting.extend(kept.heirs.get(node, ()))


def returns(topology: Topology) -> list[tuple[str, str, str]]:
    """Releaser, acquirer and buffer of every wait for a slot."""
    return [
        (giver, taker, name)
        for name in topology.buffers
        for giver in topology.releasers(name)
        for taker in topology.acquirers(name)
    ]


def uses_of(node: Node, buffer: str) -> str:
    """What a node does with a buffer: `reads, writes`, with `@1` where that is the step before's slot."""
    found: dict[int, list[str]] = {}
    for verb, uses in (("reads", node.reads), ("writes", node.writes)):
        for use in uses:
            verbs = found.setdefault(use.back, []) if use.buffer == buffer else []
            if verb not in verbs:
                verbs.append(verb)
    return "; ".join(
        ", ".join(verbs) + (f" @{back}" if back else "") for back, verbs in sorted(found.items())
    )
