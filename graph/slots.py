"""Slots: allocated once from the declared types, handed out by step number, given back or quarantined.

Which step may touch which slot was proved beforehand; here is only the memory, and a note of each slot's
tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from graph.errors import BindError
from graph.lanes.board import FREE
from graph.lanes.thread import Counts
from graph.makers import Maker, Missing, RecordMaker, ResourceCounts, ResourceMaker
from graph.topology import Buffer, TensorType, Topology

if TYPE_CHECKING:
    import torch

Fields = dict[str, "torch.Tensor"]


UNMADE = object()
"""In the slots of a resource before and after the run."""


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

    def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Each field's name and tensor."""
        return iter(self.__dict__.items())

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}: {_shape(value)}' for name, value in self.__dict__.items())})"


def _shape(value: torch.Tensor | None) -> str:
    return "absent" if value is None else f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


class Pool:
    """All slots of one buffer. `tenant[i]` is the turn whose step holds slot i, or `FREE`."""

    def __init__(self, name: str, buffer: Buffer, maker: Maker, is_record: bool) -> None:
        self.name = name
        self.buffer = buffer
        self.is_record = is_record
        """Whether a slot is a record of tensors, rather than an object that a factory made."""
        self._maker = maker
        self.slots: list[Any] = [UNMADE] * buffer.slots
        """Resources are there from `open` to `close`."""
        self.tenant: Counts = [FREE] * buffer.slots
        self.suspect: Suspects = set()
        if maker.at_once:
            self._fill()

    def open(self) -> None:
        """The run starts: make what is not yet there. Raises `BindError`."""
        if not self._maker.at_once:
            self._fill()

    def _fill(self) -> None:
        for slot in range(self.buffer.slots):
            self.slots[slot] = self._maker.make(slot)

    def resources(self) -> list[int]:
        """The slots in which a factory's object is, or stood."""
        made = () if self._maker.at_once else range(self.buffer.slots)
        return [slot for slot in made if self.slots[slot] is not UNMADE]

    def destroy(self, slot: int) -> None:
        """Destroy what a factory made; no node runs any more."""
        left, self.slots[slot] = self.slots[slot], UNMADE
        if left is not UNMADE:
            self._maker.destroy(left)

    def counts(self) -> ResourceCounts | None:
        """None where the slots are not objects that a factory made in this process."""
        return self._maker.counts()

    @property
    def quarantined(self) -> list[Any]:
        """What is out of use, and kept since the device may still use it."""
        return self._maker.kept

    def holds(self, turn: int) -> bool:
        """Whether the step of `turn` has a slot."""
        return self.tenant[turn % self.buffer.slots] == turn

    def give_back(self, slot: int) -> bool:
        """Free the slot; True where it was suspect, and what was in it is out of use and replaced."""
        self.tenant[slot] = FREE
        if slot in self.suspect:
            self.suspect.discard(slot)
            self._renew(slot, slot)
            return True
        if type(self.slots[slot]) is Missing:
            self._renew(slot, slot)
        return False

    def _renew(self, slot: int, place: int) -> None:
        """Put something new into the slot, or what says that it cannot be had."""
        old, self.slots[slot] = self.slots[slot], Missing(self.name, slot, "being made")
        try:
            self.slots[slot] = self._maker.replace(old, place)
        except BaseException as error:  # of a device that is lost, or without memory
            self.slots[slot] = Missing(self.name, slot, repr(error))

    def lose(self, slot: int, why: str) -> None:
        """What is in the slot is out of use, and nothing can be put in its place."""
        self._maker.kept.append(self.slots[slot])
        self.slots[slot] = Missing(self.name, slot, why)

    def content(self, slot: int) -> Any:
        """What is in the slot; raises `ResourceLost`."""
        found = self.slots[slot]
        if type(found) is Missing:
            raise found.error()
        return found

    def tensors(self) -> list[torch.Tensor]:
        """Every tensor of every slot."""
        found = (slot for slot in self.slots if self.is_record and type(slot) is not Missing)
        return [tensor for slot in found for tensor in slot.values()]


def close_all(pools: Iterable[Pool]) -> None:
    """Destroy every resource, the last one first; of what interrupts that, the first is raised once all is done."""
    fault: BaseException | None = None
    for pool in reversed([*pools]):
        for slot in reversed(pool.resources()):
            try:
                pool.destroy(slot)
            except BaseException as error:
                fault = fault or error
    if fault is not None:
        raise fault


def allocate(
    topology: Topology,
    dims: Mapping[str, int],
    resources: Mapping[str, Callable[[], Any]],
    device: str,
    on_fault: Callable[[Exception], None],
) -> dict[str, Pool]:
    """A pool for each buffer of the topology, with `dims` in place of its defaults.

    `on_fault` is called where a resource does not close. Raises `BindError` for a dimension or a factory that is not
    there, and where the memory cannot be had.
    """
    sizes = {**topology.dims, **dims}
    return {
        name: Pool(
            name,
            buffer,
            _maker(name, topology, sizes, resources, device, on_fault),
            _is_record(buffer, topology),
        )
        for name, buffer in topology.buffers.items()
    }


def _is_record(buffer: Buffer, topology: Topology) -> bool:
    return not isinstance(topology.types[buffer.type], str)


def _maker(
    name: str,
    topology: Topology,
    dims: Mapping[str, int],
    resources: Mapping[str, Callable[[], Any]],
    device: str,
    on_fault: Callable[[Exception], None],
) -> Maker:
    if _is_record(topology.buffers[name], topology):
        return record_maker(name, topology, dims, device)
    return resource_maker(name, topology, resources, on_fault)


def resource_maker(
    name: str,
    topology: Topology,
    resources: Mapping[str, Callable[[], Any]],
    on_fault: Callable[[Exception], None],
    on_count: Callable[[ResourceCounts], None] | None = None,
) -> ResourceMaker:
    """Makes a resource buffer's objects by the executor's factory; raises `BindError` where there is none."""
    kind = topology.buffers[name].type
    if kind not in resources:
        raise BindError(f"buffer `{name}` needs a factory for `{kind}`: add it to the executor's `resources`")
    return ResourceMaker(name, resources[kind], on_fault, on_count)


def record_maker(name: str, topology: Topology, dims: Mapping[str, int], device: str) -> RecordMaker:
    """Allocates a record's tensors in this process."""
    declared = topology.types[topology.buffers[name].type]
    assert not isinstance(declared, str), "only records are allocated"

    def make(place: int) -> Fields:
        import torch

        del place
        with torch.inference_mode(False):  # an inference tensor could not be written on the lanes
            return {
                field: _tensor(name, field, kind, dims, topology.buffers[name], device)
                for field, kind in declared.items()
            }

    return RecordMaker(make)


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
            tensor = torch.zeros(shape, dtype=dtype, device=device)
            if tensor.is_cuda:
                torch.cuda.current_stream(tensor.device).synchronize()  # its first user is on another queue
            return tensor
        tensor = torch.zeros(shape, dtype=dtype)
        if declared.place == "pinned" and device.startswith("cuda"):
            return tensor.pin_memory()
        if declared.place == "shared":
            tensor.share_memory_()  # type: ignore[no-untyped-call]
        return tensor
    except (RuntimeError, AssertionError) as error:  # the latter from a torch without that device
        raise BindError(f"`{buffer}.{field}` as {kind} of {shape} cannot be allocated: {error}") from None
