"""Faulty topologies made from sound cases: one or two parts of each changed, dropped, doubled or misspelt."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from graph.edits import plain
from graph.reading import load
from graph.topology import KINDS, Topology
from graph.validate import faults
from tests.graph.headers import CASES

Data = dict[str, Any]
Draw = random.Random
_PORTS = ("acquires", "releases", "reads", "writes")


def faulty(seed: int, count: int) -> Iterator[Topology]:
    """`count` topologies with at least one fault."""
    print(f"seed {seed}")
    draw = random.Random(seed)
    bases = [plain(load(path)) for path in sorted(CASES.glob("*.sound.yaml"))]
    bases = [data for data in bases if data.get("lanes") and data.get("buffers")]
    while count:
        data = copy.deepcopy(draw.choice(bases))
        data.pop("extends", None)
        data.pop("fallback", None)
        for _ in range(draw.choice((1, 1, 1, 2))):
            draw.choice(MUTATIONS)(draw, data)
        try:
            topology = Topology.model_validate(data)
        except ValidationError:
            continue
        if faults(topology):
            count -= 1
            yield topology


def _key(draw: Draw, mapping: Data | None) -> str:
    return draw.choice(list(mapping)) if mapping else ""


def _typo(draw: Draw, name: str) -> str:
    place = draw.randrange(len(name))
    return name[:place] + draw.choice("abcxyz") + name[place + 1 :]


def _lane(draw: Draw, data: Data) -> list[str]:
    return data["lanes"][_key(draw, data["lanes"])]["nodes"]


def _node(draw: Draw, data: Data) -> Data:
    return data["nodes"][_key(draw, data["nodes"])]


def _lose_edge(draw: Draw, data: Data) -> None:
    data["edges"].pop(_key(draw, data["edges"]), None)


def _hand_on_less(draw: Draw, data: Data) -> None:
    edge = data["edges"].get(_key(draw, data["edges"]), {})
    for part in ("carries", "lends"):
        if edge.get(part):
            edge[part].pop(draw.randrange(len(edge[part])))
            return


def _other_step(draw: Draw, data: Data) -> None:
    key = _key(draw, data["edges"])
    if key:
        producer, consumer = key.split(" -> ")
        node, _, back = producer.partition("@")
        far = max(0, int(back or 0) + draw.choice((1, -1)))
        data["edges"][f"{node}@{far} -> {consumer}" if far else f"{node} -> {consumer}"] = data["edges"].pop(
            key
        )


def _other_slots(draw: Draw, data: Data) -> None:
    buffer = data["buffers"][_key(draw, data["buffers"])]
    if not buffer.get("persistent"):
        buffer["slots"] = max(1, buffer.get("slots", 1) + draw.choice((1, -1, -1)))


def _other_lag(draw: Draw, data: Data) -> None:
    entries = _lane(draw, data)
    if entries:
        place = draw.randrange(len(entries))
        node, _, lag = entries[place].partition("@")
        entries[place] = f"{node}@{max(0, int(lag or 0) + draw.choice((1, -1)))}"


def _shuffle_lane(draw: Draw, data: Data) -> None:
    draw.shuffle(_lane(draw, data))


def _move_entry(draw: Draw, data: Data) -> None:
    here, there = _lane(draw, data), _lane(draw, data)
    if here:
        there.append(here.pop(draw.randrange(len(here))))


def _double_entry(draw: Draw, data: Data) -> None:
    _lane(draw, data).insert(0, _key(draw, data["nodes"]))


def _lose_entry(draw: Draw, data: Data) -> None:
    entries = _lane(draw, data)
    if entries:
        entries.pop(draw.randrange(len(entries)))


def _lose_use(draw: Draw, data: Data) -> None:
    node = _node(draw, data)
    for port in draw.sample(_PORTS, len(_PORTS)):
        if node.get(port):
            node[port].pop(draw.randrange(len(node[port])))
            return


def _more_use(draw: Draw, data: Data) -> None:
    port = draw.choice(_PORTS)
    _node(draw, data).setdefault(port, []).append(_key(draw, data["buffers"]) + draw.choice(("", "", "@1")))


def _other_kind(draw: Draw, data: Data) -> None:
    _node(draw, data)["kind"] = draw.choice(KINDS)


def _other_route(draw: Draw, data: Data) -> None:
    members = data.get("routes", {}).get(_key(draw, data.get("routes")), [])
    node = _key(draw, data["nodes"])
    if node in members:
        members.remove(node)
    elif members:
        members.append(node)


def _limit(draw: Draw, data: Data) -> None:
    data["in_flight"] = draw.randint(1, 5)


def _emit(draw: Draw, data: Data) -> None:
    _node(draw, data)["emits"] = "results"


def _assert_type(draw: Draw, data: Data) -> None:
    if data["edges"]:
        data["edges"][_key(draw, data["edges"])]["type"] = _key(draw, data["types"])


def _misspell(draw: Draw, data: Data) -> None:
    node = _node(draw, data)
    for port in _PORTS:
        if node.get(port):
            node[port][0] = _typo(draw, node[port][0])
            return


def _misspell_entry(draw: Draw, data: Data) -> None:
    entries = _lane(draw, data)
    if entries:
        entries[0] = _typo(draw, entries[0])


def _persist(draw: Draw, data: Data) -> None:
    buffer = data["buffers"][_key(draw, data["buffers"])]
    buffer["persistent"] = not buffer.get("persistent", False)


MUTATIONS: tuple[Callable[[Draw, Data], None], ...] = (
    *(_lose_edge, _hand_on_less, _other_step, _other_slots, _other_lag, _other_lag, _shuffle_lane),
    *(_move_entry, _double_entry, _lose_entry, _lose_use, _lose_use, _more_use, _more_use, _other_kind),
    *(_other_route, _other_route, _limit, _emit, _assert_type, _misspell, _misspell_entry, _persist),
)
