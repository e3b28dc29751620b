"""Topologies of any size for measurements: chains of nodes, and rows of decode steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from graph import Topology

LANES = {"prepare": "host", "bind": "host", "dispatch": "device", "reclaim": "output", "release": "output"}


def chain(nodes: int, lanes: int, buffers: int = 1, slots: int = 2, *, scattered: bool = False) -> Topology:
    """One node after the other, from the one that takes a slot of each buffer to the one that gives all back.

    The chain is cut into as many parts as there are lanes; `scattered` deals its nodes out to the lanes in turn.
    """
    names = [f"n{place}" for place in range(nodes)]
    carried = [f"b{place}" for place in range(buffers)]
    kinds: dict[str, dict[str, Any]] = {name: {"kind": "bind"} for name in names}
    kinds[names[0]] = {"kind": "prepare", "acquires": carried, "writes": carried}
    kinds[names[-1]] = {"kind": "release", "releases": carried}
    edges = {f"{one} -> {other}": {"carries": carried} for one, other in pairwise(names)}
    programs: dict[str, list[str]] = {f"lane{place}": [] for place in range(lanes)}
    for place, name in enumerate(names):
        lane = place % lanes if scattered else place * lanes // nodes
        programs[f"lane{lane}"].append(name)
    return Topology.model_validate(
        {
            "topology": f"chain_{nodes}_{lanes}",
            "types": {"T": {"x": "int64[8]"}},
            "buffers": {name: {"type": "T", "slots": slots} for name in carried},
            "nodes": kinds,
            "edges": edges,
            "lanes": {name: {"nodes": program} for name, program in programs.items()},
        }
    )


def decode_row(nodes: int) -> Topology:
    """As many decode steps as the nodes make, five nodes each, in a row: each has slots of its own and starts when
    the one before it has been dispatched. Three lanes."""
    kinds: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    programs: dict[str, list[str]] = {lane: [] for lane in dict.fromkeys(LANES.values())}
    for block in range(nodes // len(LANES)):
        inputs, outputs = f"inputs{block}", f"outputs{block}"
        name = {kind: f"{kind}{block}" for kind in LANES}
        buffers |= {inputs: {"type": "T", "slots": 2}, outputs: {"type": "T", "slots": 2}}
        kinds |= {
            name["prepare"]: {"kind": "prepare", "acquires": [inputs], "writes": [f"{inputs}.x"]},
            name["bind"]: {"kind": "bind", "acquires": [outputs], "writes": [f"{inputs}.y"]},
            name["dispatch"]: {"kind": "dispatch", "reads": [inputs], "writes": [outputs]},
            name["reclaim"]: {
                "kind": "reclaim",
                "reads": [f"{inputs}.x", outputs],
                "emits": f"results{block}",
            },
            name["release"]: {"kind": "release", "releases": [inputs, outputs]},
        }
        both = {"carries": [inputs, outputs]}
        edges |= {
            f"{name['prepare']} -> {name['bind']}": {"carries": [inputs]},
            f"{name['bind']} -> {name['dispatch']}": both,
            f"{name['dispatch']} -> {name['reclaim']}": both,
            f"{name['reclaim']} -> {name['release']}": both,
        }
        if block:
            edges[f"dispatch{block - 1} -> {name['dispatch']}"] = {}
        for kind, lane in LANES.items():
            programs[lane].append(name[kind])
    return Topology.model_validate(
        {
            "topology": f"row_{nodes}",
            "types": {"T": {"x": "int64[8]", "y": "int64[8]"}},
            "buffers": buffers,
            "nodes": kinds,
            "edges": edges,
            "lanes": {name: {"nodes": program} for name, program in programs.items()},
        }
    )
