"""The memory that slots take, from types and dims."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from graph.topology import Place, TensorType, Topology

ITEM_BYTES = {
    "bool": 1,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes of one element of each torch dtype that a slot can have."""


class BufferMemory(NamedTuple):
    """A buffer's memory; `slot_bytes` is None where the type does not tell: a resource, a plain value."""

    buffer: str
    place: Place
    slots: int
    slot_bytes: int | None

    @property
    def total(self) -> int:
        """Bytes of all slots; 0 where the type does not tell."""
        return self.slots * (self.slot_bytes or 0)


def memory(topology: Topology) -> tuple[BufferMemory, ...]:
    """The memory of every buffer, in the order of the file. Allocators may round each tensor up."""
    return tuple(
        BufferMemory(
            name,
            _place(topology, name),
            1 if buffer.persistent else buffer.slots,
            _slot_bytes(topology, name),
        )
        for name, buffer in topology.buffers.items()
    )


def by_place(found: Iterable[BufferMemory]) -> dict[str, int]:
    """Bytes in each place where a buffer of known size is."""
    totals: dict[str, int] = {}
    for one in found:
        if one.slot_bytes is not None:
            totals[one.place] = totals.get(one.place, 0) + one.total
    return totals


def _place(topology: Topology, buffer: str) -> Place:
    """Where the slots are: a host buffer that a process lane uses is shared."""
    place = topology.buffers[buffer].place
    if place != "host":
        return place
    processes = (lane for lane in topology.lanes.values() if lane.worker == "process")
    nodes = (topology.nodes[entry.node] for lane in processes for entry in lane.nodes)
    used = any(
        buffer in node.acquires or any(use.buffer == buffer for use in (*node.reads, *node.writes))
        for node in nodes
    )
    return "shared" if used else "host"


def _slot_bytes(topology: Topology, buffer: str) -> int | None:
    declared = topology.types[topology.buffers[buffer].type]
    if isinstance(declared, str):
        return None
    return sum(_tensor_bytes(tensor, topology.dims) for tensor in declared.values())


def _tensor_bytes(tensor: TensorType, dims: Mapping[str, int]) -> int:
    sizes = (dim if isinstance(dim, int) else dims[dim] for dim in tensor.dims)
    return ITEM_BYTES[tensor.dtype] * math.prod(sizes)
