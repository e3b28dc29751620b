"""Random sound topologies: lags, several lanes and routes, entries on several lanes, slots, limits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pydantic import ValidationError

from graph import Topology, diagnose


def sound(seed: int, count: int) -> Iterator[Topology]:
    """`count` topologies that the validator finds no error in."""
    source = random.Random(seed)
    while count:
        try:
            drawn = Topology.model_validate(_draw(source))
        except ValidationError:
            continue
        if all(found.severity != "error" for found in diagnose(drawn)):
            count -= 1
            yield drawn


def _draw(source: random.Random) -> dict[str, Any]:
    names = [f"n{i}" for i in range(source.randint(1, 9))]
    edges = _edges(source, names)
    nodes: dict[str, dict[str, Any]] = {name: {"kind": "bind"} for name in names}
    buffers = _buffers(source, names, nodes, edges)
    lag = _lags(source, names, edges)
    lanes: dict[str, list[str]] = {}
    for name in names:
        lanes.setdefault(f"lane{source.randrange(4)}", []).append(
            f"{name}@{lag[name]}" if lag[name] else name
        )
    routes = _routes(source, names, buffers)
    if source.random() < 0.5:
        for members in routes.values() or [names]:
            last = [name for name in members if nodes[name] == {"kind": "bind"}][-1:]
            nodes.update({name: {"kind": "reclaim", "emits": "results"} for name in last})
    topology: dict[str, Any] = {
        "topology": "random",
        "types": {"T": {"x": "int64[1]"}},
        "nodes": nodes,
        "buffers": {name: {"type": "T", "slots": source.randint(1, 4)} for name in buffers},
        "edges": edges,
        "lanes": {name: {"nodes": entries} for name, entries in lanes.items()},
        "routes": routes,
    }
    if source.random() < 0.3:
        topology["in_flight"] = source.randint(1, 5)
    return topology


def _edges(source: random.Random, names: list[str]) -> dict[str, dict[str, Any]]:
    edges: dict[str, dict[str, Any]] = {}
    density = source.choice((0.0, 0.2, 0.5))
    for i, producer in enumerate(names):
        for consumer in names[i + 1 :]:
            if source.random() < density:
                edges[f"{producer} -> {consumer}"] = {}
    for _ in range(source.randrange(3)):
        edges[f"{source.choice(names)}@{source.randint(1, 3)} -> {source.choice(names)}"] = {}
    return edges


def _lags(source: random.Random, names: list[str], edges: dict[str, dict[str, Any]]) -> dict[str, int]:
    """At most 3, and never less than that of a node which feeds it in the same step."""
    lag: dict[str, int] = {}
    longest = source.randrange(4)
    for name in names:
        feeding = [lag[other] for other in lag if f"{other} -> {name}" in edges]
        lag[name] = max([source.choice((0, source.randint(0, longest))), *feeding])
    return lag


def _buffers(
    source: random.Random,
    names: list[str],
    nodes: dict[str, dict[str, Any]],
    edges: dict[str, dict[str, Any]],
) -> dict[str, list[str]]:
    """Each buffer with its owners in turn: it is acquired by the first, carried along, released by the last."""
    found: dict[str, list[str]] = {}
    for number in range(source.randrange(3)):
        owners = sorted(source.sample(names, source.randint(2, len(names)))) if len(names) > 1 else []
        kinds = [nodes[name]["kind"] for name in owners]
        if (
            not owners
            or "release" in kinds
            or "releases" in nodes[owners[-1]]
            or "acquires" in nodes[owners[-1]]
        ):
            continue
        name = f"b{number}"
        nodes[owners[0]].setdefault("acquires", []).append(name)
        nodes[owners[-1]] = {"kind": "release", "releases": [name]}
        for owner in owners[:-1]:
            nodes[owner].setdefault("writes", []).append(name)
        for a, b in pairwise(owners):
            edges.setdefault(f"{a} -> {b}", {}).setdefault("carries", []).append(name)
        found[name] = owners
    return found


def _routes(source: random.Random, names: list[str], buffers: dict[str, list[str]]) -> dict[str, list[str]]:
    """One to three routes; a buffer's owners are in a route together or not at all."""
    if source.random() < 0.4:
        return {}
    routes = {}
    for number in range(source.randint(1, 3)):
        members = {name for name in names if source.random() < 0.7}
        for owners in buffers.values():
            if members & set(owners):
                members |= set(owners)
        routes[f"r{number}"] = [name for name in names if name in members]
    return routes
