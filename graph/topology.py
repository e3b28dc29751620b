"""The models of a topology file: what a file may say, and nothing about whether it is sound.

Text that has a grammar of its own (`outputs.draft@1`, `int64[batch, rows]`, `reclaim@1 -> bind`) is parsed here
into small tuples, so that nothing behind this module reads text again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    WithJsonSchema,
)

from graph.diagnostics import Location

NAME = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
Kind = Literal["prepare", "bind", "dispatch", "reclaim", "release"]
Place = Literal["host", "pinned", "device", "shared"]
Worker = Literal["thread", "process", "stream"]
KINDS: tuple[Kind, ...] = ("prepare", "bind", "dispatch", "reclaim", "release")
MAX_NODES = 1024
MAX_PAIRS = 1 << 16
"""Most nodes, and most pairs of reads and writes of one buffer, over all buffers: checking compares them in pairs."""
MAX_BACK = 1024
"""The largest `@n`, lag, slot count and `in_flight`: far above any use, low enough to keep every analysis small."""

MAX_COST = 1e12
"""The largest duration in `costs:`, in milliseconds: thirty years, and low enough that no sum leaves the floats."""


class Use(NamedTuple):
    """`buffer`, `buffer.field`, either with `@n`: the slot of the step `back` steps earlier."""

    buffer: str
    field: str | None = None
    back: int = 0

    def __str__(self) -> str:
        return self.buffer + (f".{self.field}" if self.field else "") + (f"@{self.back}" if self.back else "")


class Entry(NamedTuple):
    """`node@lag`: a node in a lane's program, working `lag` steps behind the turn."""

    node: str
    lag: int = 0

    def __str__(self) -> str:
        return f"{self.node}@{self.lag}" if self.lag else self.node


class EdgeKey(NamedTuple):
    """`producer@back -> consumer`."""

    producer: str
    back: int
    consumer: str

    def __str__(self) -> str:
        return f"{self.producer}{f'@{self.back}' if self.back else ''} -> {self.consumer}"


class TensorType(NamedTuple):
    """`dtype[dim, ...]`; a dimension is a number or the name of one."""

    dtype: str
    dims: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]"


def _back(text: str | None) -> int:
    value = int(text) if text else 0
    if value > MAX_BACK:
        raise ValueError(f"@{value} is beyond the limit of {MAX_BACK}")
    return value


def _grammar(pattern: str, form: str, build: Callable[[re.Match[str]], Any]) -> Callable[[Any], Any]:
    """A parser for one textual form; values that are already parsed pass through."""
    compiled = re.compile(pattern)

    def parse(value: Any) -> Any:
        if isinstance(value, tuple):
            return value
        match = compiled.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError(f"expected {form}, not {value!r}")
        return build(match)

    return parse


USE_PATTERN = rf"({NAME})(?:\.({NAME}))?(?:@([0-9]{{1,6}}))?"
ENTRY_PATTERN = rf"({NAME})(?:@([0-9]{{1,6}}))?"
EDGE_PATTERN = rf"\s*({NAME})(?:@([0-9]{{1,6}}))?\s*->\s*({NAME})\s*"
TENSOR_PATTERN = (
    rf"\s*({NAME})\s*\[\s*((?:(?:{NAME}|[0-9]{{1,12}})(?:\s*,\s*(?:{NAME}|[0-9]{{1,12}}))*)?)\s*\]\s*"
)

parse_use = _grammar(
    USE_PATTERN, "`buffer`, `buffer.field` or `buffer@n`", lambda m: Use(m[1], m[2], _back(m[3]))
)
parse_entry = _grammar(ENTRY_PATTERN, "`node` or `node@lag`", lambda m: Entry(m[1], _back(m[2])))
parse_edge = _grammar(
    EDGE_PATTERN,
    "`producer -> consumer` or `producer@n -> consumer`",
    lambda m: EdgeKey(m[1], _back(m[2]), m[3]),
)
parse_tensor = _grammar(
    TENSOR_PATTERN,
    "a tensor type such as `int64[batch, rows]`",
    lambda m: TensorType(m[1], tuple(int(d) if d.isdigit() else d for d in re.findall(r"\w+", m[2]))),
)


def _text(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})


Name = Annotated[str, Field(pattern=rf"^{NAME}$")]
UseText = Annotated[Use, BeforeValidator(parse_use), _text(USE_PATTERN)]
EntryText = Annotated[Entry, BeforeValidator(parse_entry), _text(ENTRY_PATTERN)]
EdgeText = Annotated[EdgeKey, BeforeValidator(parse_edge), _text(EDGE_PATTERN)]
TensorText = Annotated[TensorType, BeforeValidator(parse_tensor), _text(TENSOR_PATTERN)]
Count = Annotated[int, Field(ge=1, le=MAX_BACK, strict=True)]


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, use_attribute_docstrings=True
    )


class Buffer(_Part):
    type: Name
    """The record, resource or value type of one slot."""
    slots: Count = 1
    """How many steps' worth of it exist; step k uses slot k mod slots."""
    place: Place = "host"
    """Where a slot's memory is: host, pinned, device, or shared between processes."""
    persistent: Annotated[bool, Field(strict=True)] = False
    """One instance for the whole run, never recycled."""
    keyed_by: Literal["request"] | None = None
    """Rows of a persistent buffer belong to requests; the run keeps a generation for each row."""


class Node(_Part):
    kind: Kind
    """prepare, bind, dispatch, reclaim or release."""
    acquires: tuple[Name, ...] = ()
    """Buffers of which the node takes an empty slot."""
    releases: tuple[Name, ...] = ()
    """Buffers of which the node gives the slot back."""
    reads: tuple[UseText, ...] = ()
    """`buffer`, `buffer.field`, or either with `@n` for the slot of the step n back."""
    writes: tuple[UseText, ...] = ()
    """The same forms as `reads`."""
    emits: Name | None = None
    """The ordered output stream that the node feeds."""


class Edge(_Part):
    carries: tuple[Name, ...] = ()
    """Buffers whose ownership moves along the edge."""
    lends: tuple[Name, ...] = ()
    """Buffers whose slot the consumer may use; ownership stays."""
    value: Name | None = None
    """The type of a plain value that goes along."""
    type: Name | None = None
    """An assertion: what is carried or lent has this type."""


class Lane(_Part):
    nodes: tuple[EntryText, ...]
    """The lane's program: entries that it runs in this order, turn after turn."""
    worker: Worker = "thread"
    """thread, process (slots in shared memory) or stream (an accelerator queue)."""


RecordType = Mapping[Name, TensorText]
TypeText = Annotated[
    Annotated[Literal["resource", "value"], Tag("word")] | Annotated[RecordType, Tag("record")],
    Discriminator(lambda declared: "word" if isinstance(declared, str) else "record"),
]


class Topology(_Part):
    """A topology file, with `extends` merged and short forms expanded."""

    laneflow: Literal[1] = 1
    """Version of the language."""
    topology: str = ""
    """The name: the file's stem."""
    summary: str = ""
    """One line for people."""
    extends: str | None = None
    """The topology this one starts from: mappings merge, lists replace, null removes."""
    abstract: Annotated[bool, Field(strict=True)] = False
    """Only a base for others; needs no lanes."""
    requires: tuple[Name, ...] = ()
    """Capabilities that the executor must have."""
    fallback: str | None = None
    """The topology that runs where the executor lacks one of them."""
    dims: Mapping[Name, Annotated[int, Field(ge=0, strict=True)]] = {}
    """Symbolic sizes; the application may set them from its model."""
    types: Mapping[Name, TypeText] = {}
    """Records of tensor fields; `resource`, made by a registered factory; `value`, a plain Python value."""
    buffers: Mapping[Name, Buffer] = {}
    nodes: Mapping[Name, Node]
    edges: Mapping[EdgeText, Edge] = {}
    lanes: Mapping[Name, Lane] = {}
    routes: Mapping[Name, tuple[Name, ...]] = {}
    """Which nodes a step of each kind visits; without it, one route with every node."""
    in_flight: Count | None = None
    """Most steps between entry and exit."""
    costs: Mapping[Name, Annotated[float, Field(ge=0, le=MAX_COST, allow_inf_nan=False, strict=True)]] = {}
    """Estimated durations of nodes, in milliseconds."""

    _places: dict[tuple[str | int, ...], Location] = PrivateAttr(default_factory=dict)

    def place(self, *path: str | int | EdgeKey) -> Location:
        """Where the thing at `path` (as in `place("nodes", "bind", "reads", 0)`) is declared, or what holds it."""
        keys = tuple(str(key) if isinstance(key, EdgeKey) else key for key in path)
        while keys and keys not in self._places:
            keys = keys[:-1]
        return self._places.get(keys, Location(self.topology or "<topology>", 1, 1))

    def steps_routes(self) -> Mapping[str, tuple[str, ...]]:
        """Every route with its nodes; the one route `default` with every node where the file declares none."""
        return self.routes or {"default": tuple(self.nodes)}

    def fields(self, buffer: str) -> tuple[str, ...]:
        """The field names of a buffer's record; empty for a resource."""
        declared = self.types[self.buffers[buffer].type]
        return () if isinstance(declared, str) else tuple(declared)

    def acquirers(self, buffer: str) -> tuple[str, ...]:
        """The nodes that take a slot of `buffer`, in declaration order."""
        return tuple(name for name, node in self.nodes.items() if buffer in node.acquires)

    def releasers(self, buffer: str) -> tuple[str, ...]:
        """The nodes that give a slot of `buffer` back, in declaration order."""
        return tuple(name for name, node in self.nodes.items() if buffer in node.releases)
