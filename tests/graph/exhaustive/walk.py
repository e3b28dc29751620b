"""Every interleaving of a bounded run, with no graph theory in it.

A lane's progress is the number of its events so far: each entry of its program has two in every turn, its
start and its end. A state is the progress of all lanes; visiting every reachable state once meets every
interleaving. This shares the models of a file with the validator and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from graph.topology import Topology

State = tuple[int, ...]


class Firing(NamedTuple):
    """A node in a turn of its lane."""

    node: str
    turn: int


class Wait(NamedTuple):
    """`node` on a step waits for `other` on the step `back` steps earlier."""

    node: str
    other: str
    back: int
    buffer: str | None = None


def waits(topology: Topology) -> list[Wait]:
    """All that the language says a node waits for, lane order aside."""
    found = [Wait(key.consumer, key.producer, key.back) for key in topology.edges]
    for taker, node in topology.nodes.items():
        for buffer in node.acquires:
            givers = [name for name, other in topology.nodes.items() if buffer in other.releases]
            found += [Wait(taker, giver, topology.buffers[buffer].slots, buffer) for giver in givers]
    if topology.in_flight is not None:
        found += [
            Wait(entry, node, topology.in_flight) for entry in entries(topology) for node in topology.nodes
        ]
    return found


def entries(topology: Topology) -> list[str]:
    return [
        n for n in topology.nodes if not any(key.consumer == n and not key.back for key in topology.edges)
    ]


def lags(topology: Topology) -> dict[str, int]:
    return {entry.node: entry.lag for lane in topology.lanes.values() for entry in lane.nodes}


class Run:
    """The first turns of a topology's lanes."""

    def __init__(self, topology: Topology, turns: int) -> None:
        self.topology = topology
        self.lag = lags(topology)
        self.programs = [[entry.node for entry in lane.nodes] for lane in topology.lanes.values()]
        self.last = tuple(2 * turns * len(program) for program in self.programs)
        self.place = {
            node: (lane, i) for lane, nodes in enumerate(self.programs) for i, node in enumerate(nodes)
        }
        declared = waits(topology)
        self.needs: dict[Firing, list[tuple[int, int]]] = {}
        for node in self.place:
            for turn in range(turns):
                others = [
                    self.on(wait.other, turn - self.lag[node] - wait.back)
                    for wait in declared
                    if wait.node == node
                ]
                self.needs[Firing(node, turn)] = [self.end(other) for other in others if other.turn >= 0]

    def end(self, firing: Firing) -> tuple[int, int]:
        """The lane of a firing, and the lane's progress at which the firing is through."""
        lane, index = self.place[firing.node]
        return lane, 2 * (firing.turn * len(self.programs[lane]) + index + 1)

    def step(self, firing: Firing) -> int:
        return firing.turn - self.lag[firing.node]

    def on(self, node: str, step: int) -> Firing:
        return Firing(node, step + self.lag[node])

    def current(self, lane: int, progress: int) -> Firing:
        """The firing that runs where a lane's progress is odd, and that comes next where it is even."""
        turn, index = divmod(progress // 2, len(self.programs[lane]))
        return Firing(self.programs[lane][index], turn)

    def states(self) -> Iterator[tuple[State, list[Firing]]]:
        """Every reachable state once, with the firings that run in it."""
        lanes = range(len(self.programs))
        start = tuple(0 for _ in lanes)
        known = {start}
        stack = [start]
        while stack:
            state = stack.pop()
            yield state, [self.current(lane, state[lane]) for lane in lanes if state[lane] % 2]
            for lane in lanes:
                if state[lane] < self.last[lane] and (state[lane] % 2 or self._free(lane, state)):
                    after = (*state[:lane], state[lane] + 1, *state[lane + 1 :])
                    if after not in known:
                        known.add(after)
                        stack.append(after)

    def _free(self, lane: int, state: State) -> bool:
        return all(state[other] >= end for other, end in self.needs[self.current(lane, state[lane])])

    def rings(self, state: State) -> set[frozenset[str]]:
        """In a state in which no lane can go on: the sets of nodes that wait for each other in one turn."""
        left = {
            self.end(firing): firing
            for firing in self.needs
            if state[self.place[firing.node][0]] < self.end(firing)[1]
        }
        behind = {
            firing: {left[need] for need in (*self.needs[firing], (lane, end - 2)) if need in left}
            for (lane, end), firing in left.items()
        }
        reach = {firing: _reached(firing, behind) for firing in left.values() if firing.turn == 0}
        return {
            frozenset(other.node for other in found if firing in reach.get(other, ()))
            for firing, found in reach.items()
            if firing in found
        }


def _reached(start: Firing, behind: dict[Firing, set[Firing]]) -> set[Firing]:
    found: set[Firing] = set()
    stack = [start]
    while stack:
        for firing in behind[stack.pop()] - found:
            found.add(firing)
            stack.append(firing)
    return found
