"""Slots: allocated once from the declared types, handed out by step number, given back or quarantined.

Which step may touch which slot was proved beforehand; here is only the memory, and a note of each slot's
tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from graph.errors import BindError
from graph.lanes.board import FREE
from graph.lanes.thread import Counts
from graph.topology import Buffer, TensorType, Topology

if TYPE_CHECKING:
    import torch

Fields = dict[str, "torch.Tensor"]


class Suspects(Protocol):
    def add(self, slot: int, /) -> None: ...

    def discard(self, slot: int, /) -> None: ...

    def __contains__(self, slot: object, /) -> bool: ...


class Sealed:
    """Attributes that are only looked at: what a slot holds is written into its memory, never put in its place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if (
            getattr(self, name, None) is not value
        ):  # it is for `slots.outputs.token += 1`, which writes in place
            raise AttributeError(
                f"`{name}` is memory of the slot and cannot be replaced: write into it, as in `{name}.copy_(value)`"
            )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"`{name}` is memory of the slot and cannot be taken away")


class Record(Sealed):
    """One slot of a record type: its tensors by name. Fields that were not asked for are not there."""

    def __init__(self, fields: Mapping[str, torch.Tensor | None]) -> None:
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}: {_shape(value)}' for name, value in self.__dict__.items())})"


def _shape(value: torch.Tensor | None) -> str:
    return "absent" if value is None else f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


class Pool:
    """All slots of one buffer. `tenant[i]` is the turn whose step holds slot i, or `FREE`."""

    def __init__(self, name: str, buffer: Buffer, make: Callable[[], Any], is_record: bool) -> None:
        self.name = name
        self.buffer = buffer
        self.is_record = is_record
        """Whether a slot is a record of tensors, rather than an object that a factory made."""
        self._make = make
        self.slots: list[Any] = [make() for _ in range(buffer.slots)]
        self.tenant: Counts = [FREE] * buffer.slots
        self.suspect: Suspects = set()
        self.quarantined: list[Any] = []

    def holds(self, turn: int) -> bool:
        """Whether the step of `turn` has a slot."""
        return self.tenant[turn % self.buffer.slots] == turn

    def give_back(self, slot: int) -> bool:
        """Free the slot; True where it was suspect, and is now replaced by a new one and kept out of use."""
        self.tenant[slot] = FREE
        if slot not in self.suspect:
            return False
        self.suspect.discard(slot)
        self.quarantined.append(self.slots[slot])
        try:
            self.slots[slot] = self._make()
        except Exception:  # of a device that is lost: a step that gets the slot after all fails at once
            self.slots[slot] = {}
        return True

    def tensors(self) -> list[torch.Tensor]:
        """Every tensor of every slot."""
        return [tensor for slot in self.slots if self.is_record for tensor in slot.values()]


def allocate(
    topology: Topology, dims: Mapping[str, int], resources: Mapping[str, Callable[[], Any]], device: str
) -> dict[str, Pool]:
    """A pool for each buffer of the topology, with `dims` in place of its defaults.

    Raises `BindError` for a dimension or a factory that is not there, and where the memory cannot be had.
    """
    sizes = {**topology.dims, **dims}
    return {name: _pool(name, topology, sizes, resources, device) for name in topology.buffers}


def _pool(
    name: str,
    topology: Topology,
    dims: Mapping[str, int],
    resources: Mapping[str, Callable[[], Any]],
    device: str,
) -> Pool:
    make = slot_maker(name, topology, dims, resources, device)
    is_record = not isinstance(topology.types[topology.buffers[name].type], str)
    return Pool(name, topology.buffers[name], make, is_record)


def slot_maker(
    name: str,
    topology: Topology,
    dims: Mapping[str, int],
    resources: Mapping[str, Callable[[], Any]],
    device: str,
) -> Callable[[], Any]:
    """What makes one slot's content in this process; raises `BindError` where a factory is not there."""
    buffer = topology.buffers[name]
    declared = topology.types[buffer.type]
    if isinstance(declared, str):
        if buffer.type not in resources:
            raise BindError(
                f"buffer `{name}` needs a factory for `{buffer.type}`: add it to the executor's `resources`"
            )
        return resources[buffer.type]

    def make() -> Fields:
        import torch

        with torch.inference_mode(False):  # an inference tensor could not be written on the lanes
            return {
                field: _tensor(name, field, kind, dims, buffer, device) for field, kind in declared.items()
            }

    return make


def shape_of(buffer: str, field: str, kind: TensorType, dims: Mapping[str, int]) -> list[int]:
    """The sizes of a field; raises `BindError` where a dimension has none."""
    try:
        return [dim if isinstance(dim, int) else dims[dim] for dim in kind.dims]
    except KeyError as error:
        raise BindError(f"`{buffer}.{field}`: dimension {error} has no size: set it in `dims`") from None


def request_rows(topology: Topology, dims: Mapping[str, int]) -> int | None:
    """How many rows the request-keyed records have: as many as the shortest of them; None where there are none."""
    sizes = {**topology.dims, **dims}
    found = [
        shape[0]
        for name, buffer in topology.buffers.items()
        if buffer.keyed_by is not None
        for shape in _shapes(name, topology, sizes)
        if shape
    ]
    return min(found, default=None)


def _shapes(name: str, topology: Topology, sizes: Mapping[str, int]) -> Iterator[list[int]]:
    declared = topology.types[topology.buffers[name].type]
    if not isinstance(declared, str):
        yield from (shape_of(name, field, kind, sizes) for field, kind in declared.items())


def _tensor(
    buffer: str, field: str, kind: TensorType, dims: Mapping[str, int], declared: Buffer, device: str
) -> torch.Tensor:
    import torch

    shape = shape_of(buffer, field, kind, dims)
    dtype = getattr(torch, kind.dtype)
    try:
        if declared.place == "device":
            return torch.zeros(shape, dtype=dtype, device=device)
        tensor = torch.zeros(shape, dtype=dtype)
        if declared.place == "pinned" and device.startswith("cuda"):
            return tensor.pin_memory()
        if declared.place == "shared":
            tensor.share_memory_()  # type: ignore[no-untyped-call]
        return tensor
    except (RuntimeError, AssertionError) as error:  # the latter from a torch without that device
        raise BindError(f"`{buffer}.{field}` as {kind} of {shape} cannot be allocated: {error}") from None
