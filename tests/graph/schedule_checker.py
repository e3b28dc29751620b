"""Checks a schedule against a topology file, which it reads itself, sharing nothing with `graph`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

NEVER = float("inf")
Spot = tuple[str, int]


@dataclass(frozen=True)
class Wait:
    """`node` in a turn waits for `source` in the turn `tokens` earlier."""

    node: str
    source: str
    tokens: int
    lane: bool = False


@dataclass
class Raw:
    """A topology file as plain data, with the waits that section 2 of the language gives its nodes."""

    data: dict[str, Any]
    lag: dict[str, int] = field(default_factory=dict)
    lane: dict[str, str] = field(default_factory=dict)
    programs: dict[str, list[str]] = field(default_factory=dict)
    waits: dict[str, list[Wait]] = field(default_factory=dict)

    @property
    def nodes(self) -> dict[str, Any]:
        return self.data["nodes"]

    def routes(self) -> list[list[str]]:
        return list((self.data.get("routes") or {"all": list(self.nodes)}).values())

    def backs(self, node: str, buffer: str) -> set[int]:
        """The `@n` with which a node uses a buffer."""
        uses = [*self.nodes[node].get("reads", []), *self.nodes[node].get("writes", [])]
        found = [re.fullmatch(r"(\w+)(?:\.\w+)?(?:@(\d+))?", use) for use in uses]
        return {int(match[2] or 0) for match in found if match and match[1] == buffer}


def read(path: Path) -> Raw:
    """The file, merged over what it extends, with its waits."""
    raw = Raw(_merged(path))
    for name, program in raw.data["lanes"].items():
        entries = program if isinstance(program, list) else program["nodes"]
        raw.programs[name] = [entry.split("@")[0] for entry in entries]
        for entry in entries:
            node, _, lag = entry.partition("@")
            raw.lag[node], raw.lane[node] = int(lag or 0), name
    raw.waits = {node: list(_waits(raw, node)) for node in raw.nodes}
    return raw


def _merged(path: Path) -> dict[str, Any]:
    data = yaml.safe_load(path.read_text())
    base = data.pop("extends", None)
    return _over(_merged(path.parent / f"{base}.yaml"), data) if base else data


def _over(base: Any, data: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(data, dict):
        return data
    both = {**base, **{key: _over(base.get(key), value) for key, value in data.items()}}
    return {key: value for key, value in both.items() if value is not None}


def _waits(raw: Raw, node: str) -> Iterator[Wait]:
    program = raw.programs[raw.lane[node]]
    place = program.index(node)
    yield Wait(node, program[place - 1], 0 if place else 1, lane=True)
    fed = False
    for key in raw.data.get("edges") or {}:
        producer, consumer = (part.strip() for part in key.split("->"))
        source, _, back = producer.partition("@")
        if consumer == node:
            fed = fed or not int(back or 0)
            yield Wait(node, source, int(back or 0) + raw.lag[node] - raw.lag[source])
    for buffer in raw.nodes[node].get("acquires", []):
        slots = raw.data["buffers"][buffer].get("slots", 1)
        for other, declared in raw.nodes.items():
            if buffer in declared.get("releases", []):
                yield Wait(node, other, slots + raw.lag[node] - raw.lag[other])
    limit = raw.data.get("in_flight")
    if limit is not None and not fed:
        for other in raw.nodes:
            yield Wait(node, other, limit + raw.lag[node] - raw.lag[other])


def unmet(raw: Raw, schedule: Sequence[Any], strict: bool = True) -> str:
    """A wait that the schedule does not meet, whatever the routes; empty where it meets them all.

    Strictly, a node that is passed waits as it always does. For a deadlock that would stop everything before
    the first step, so there what is passed before step 0 counts as through.
    """
    for one in schedule:
        if one.lane != raw.lane[one.node] or not one.end > one.start:
            return f"{one} is not a firing of that lane"
    if len({(one.node, one.step) for one in schedule}) != len(schedule):
        return "a firing comes twice"
    steps = sorted({one.step for one in schedule})
    reasons = []
    for choice in itertools.product(raw.routes(), repeat=len(steps)):
        routes = dict(zip(steps, choice, strict=True))
        if all(one.node in routes[one.step] for one in schedule):
            reason = _Check(raw, schedule, routes, strict).reason()
            if not reason:
                return ""
            reasons.append(reason)
    return reasons[0] if reasons else "no route has the nodes of a step"


class _Check:
    def __init__(self, raw: Raw, schedule: Sequence[Any], routes: dict[int, list[str]], strict: bool) -> None:
        self.raw, self.schedule, self.routes, self.strict = raw, schedule, routes, strict
        self.fired = {(one.node, one.step): one for one in schedule}
        self.known: dict[Spot, float] = {}

    def reason(self) -> str:
        for one in self.schedule:
            for wait in self.raw.waits[one.node]:
                turn = one.step + self.raw.lag[one.node]
                if self.through(wait, turn) > one.start:
                    return f"{one.node}({one.step}) starts at {one.start} and waits for {wait}"
        return ""

    def through(self, wait: Wait, turn: int) -> float:
        """When the source of a wait is through, for its node in `turn`."""
        source, turn = wait.source, turn - wait.tokens
        if not self.strict:
            while turn >= 0 and turn < self.raw.lag[source] and wait.lane:
                wait = next(one for one in self.raw.waits[source] if one.lane)
                source, turn = wait.source, turn - wait.tokens
            if turn < self.raw.lag[source]:
                return 0
        return self.end(source, turn)

    def end(self, node: str, turn: int) -> float:
        if turn < 0:
            return 0
        if (node, turn) not in self.known:
            step = turn - self.raw.lag[node]
            if (node, step) in self.fired:
                self.known[node, turn] = self.fired[node, step].end
            elif step >= 0 and node in self.routes.get(step, [node]):
                self.known[node, turn] = NEVER
            else:
                self.known[node, turn] = max(self.through(wait, turn) for wait in self.raw.waits[node])
        return self.known[node, turn]

    def could_fire(self, node: str) -> bool:
        """Whether the next firing of a node has all that it waits for."""
        step = 1 + max((one.step for one in self.schedule if one.node == node), default=-1)
        turn = step + self.raw.lag[node]
        return all(self.through(wait, turn) < NEVER for wait in self.raw.waits[node])


def stuck(raw: Raw, schedule: Sequence[Any], nodes: Sequence[str]) -> bool:
    """Whether none of `nodes` can go on after the schedule, on a route with all that it shows."""
    route = max(raw.routes(), key=lambda members: sum(node in members for node in nodes))
    check = _Check(raw, schedule, dict.fromkeys(range(1100), route), strict=False)
    return not any(check.could_fire(node) for node in nodes if node in route)


def shown(raw: Raw, diagnostic: Any) -> bool:
    """Whether the diagnostic's schedule has two firings that should not be so."""
    code, buffer, schedule = diagnostic.code, diagnostic.buffer, diagnostic.schedule
    if code == "LF301":
        return stuck(raw, schedule, diagnostic.nodes)
    user, other = diagnostic.nodes
    pairs = [(one, two) for one in schedule if one.node == user for two in schedule if two.node == other]
    if code == "LF401":
        return any((one.step - two.step) * (one.end - two.end) < 0 for one, two in pairs)
    if code == "LF207":
        return any(_overlap(one, two) for one, two in pairs)
    if code == "LF206":
        tenures = [
            (one, two)
            for one, two in pairs
            for back in raw.backs(user, buffer)
            for far in raw.backs(other, buffer)
            if one.step - back == two.step - far
        ]
        return any(_overlap(one, two) for one, two in tenures)
    same = [(one, two) for one, two in pairs if one.step - two.step in raw.backs(user, buffer)]
    if code == "LF204":
        return any(use.start < taken.end for use, taken in same)
    return code == "LF205" and any(use.end > given.start for use, given in same)


def _overlap(one: Any, two: Any) -> bool:
    return one.start < two.end and two.start < one.end
