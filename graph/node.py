"""What the runtime asks of a node, and what a node gets to see.

`start`, `run` and `stop` are all called on the thread (or process) of the node's lane, never concurrently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from graph.topology import parse_use

if TYPE_CHECKING:
    from graph.lanes.queue import Queue

Rows = tuple[tuple[int, int], ...]
"""(row, generation) of each request that a step touches."""


@dataclass(frozen=True)
class Ports:
    """What a node's implementation reads, writes, takes, gives and emits, checked against the file (LF502).

    `reads` and `writes` use the file's notation (`inputs.tokens`, `outputs@1`); a whole buffer stands for all of
    its fields. `types` names the type of each buffer. `takes` and `gives` map a value's name, as used in `step.get`
    and `step.put`, to its type. Ports in `optional` (buffers or value names) may be missing from the file; the node
    then finds no such attribute on its slots, or None for the value.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    takes: Mapping[str, str] = field(default_factory=dict)
    gives: Mapping[str, str] = field(default_factory=dict)
    emits: bool = False
    optional: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("reads", "writes"):
            texts = getattr(self, name)
            if isinstance(texts, str):
                raise TypeError(f"Ports({name}={texts!r}): give a tuple, as in ({texts!r},)")
            for text in texts:
                parse_use(text)


@dataclass(frozen=True)
class Context:
    """What a node is told at start: its name, the dims and the routes of the run, and the device of its tensors."""

    node: str
    dims: Mapping[str, int]
    routes: tuple[str, ...]
    device: str
    buffers: Mapping[str, Any]
    """The persistent buffers that the node uses, by name: one record, or one resource, each."""
    stream: Queue | None = None
    """On a `stream` lane its queue, on which the node launches; None on other lanes."""
    slots: Mapping[str, int] = field(default_factory=dict)
    """How many slots each of the other buffers has that the node uses, by name."""


class Step(Protocol):
    """One step as a node sees it, valid for the time of the call."""

    @property
    def index(self) -> int:
        """Number of the step in order of submission, from 0."""

    @property
    def route(self) -> str: ...

    @property
    def command(self) -> Any:
        """The submitted object; only prepare and bind see it, later nodes get what those hand on."""

    @property
    def rows(self) -> Rows: ...

    @property
    def error(self) -> Exception | None:
        """The failure of this step, which only a release node is run to see."""

    def put(self, name: str, value: Any) -> None:
        """Send a value along the edges that carry its type."""

    def get(self, name: str) -> Any:
        """The value that arrived, or None where its producer was absent, passed or failed."""

    def device_time(self, nanoseconds: int) -> None:
        """Report how long the device itself worked on this call, by its own clock; reports use it for `gap_true`."""


@runtime_checkable
class Node(Protocol):
    """A node's implementation. `ports` None means that it accepts whatever the file declares."""

    @property
    def ports(self) -> Ports | None: ...

    def start(self, context: Context) -> None: ...

    def run(self, step: Step, slots: Any) -> Any: ...

    def stop(self) -> None: ...


@dataclass(frozen=True)
class Executor:
    """The implementations behind a topology's names."""

    nodes: Mapping[str, Node]
    capabilities: frozenset[str] = frozenset()
    """Short documented words, such as `device_state`, that a topology may require."""
    resources: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """For each `type: resource`, what makes one slot's object at the start of a run; what that puts on a device must
    be there when it returns. One that has `close()` is destroyed by it: at the end of the run, or as soon as a step
    was not proved to be through with it."""
    dims: Mapping[str, int] = field(default_factory=dict)
    """Sizes that replace the topology's defaults."""
    routes: tuple[str, ...] = ()
    """Routes that the application submits to (LF503 where the topology lacks one)."""
    factory: Callable[[], Executor] | str | None = None
    """How a lane in a process of its own gets an equal executor: a callable that can be pickled, or its name as
    `package.module:callable`. Only the nodes of that lane are started there, so what is costly belongs into their
    `start`."""

    def __post_init__(self) -> None:
        for name, size in self.dims.items():
            if type(size) is not int or size < 0:
                raise TypeError(f"Executor(dims={{{name!r}: {size!r}}}): a size is a whole number from 0")
