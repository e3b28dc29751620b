"""What a check found, as data: renderers turn it into text, json, sarif and the like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning", "advice"]


class Location(NamedTuple):
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class Firing:
    """One node working on one step in a schedule, from `start` to `end` in the schedule's own time units."""

    node: str
    step: int
    lane: str
    start: float
    end: float


class Moment(NamedTuple):
    """A node working on a step that takes `route`."""

    node: str
    step: int
    route: str


@dataclass(frozen=True)
class Clash:
    """Two firings that nothing keeps apart: `first` should be through before `second` starts.

    Where either order would do (LF206, LF207), `first` is that of the earlier step. `tenure` is the step that
    acquired the slot concerned; it is None for persistent buffers and output streams.
    """

    first: Moment
    second: Moment
    tenure: int | None = None
    slot: int | None = None


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `nodes` has the node at fault first; `buffer` and `route` are None where none matters."""

    location: Location
    code: str
    message: str
    help: str = ""
    severity: Severity = "error"
    nodes: tuple[str, ...] = ()
    buffer: str | None = None
    route: str | None = None
    schedule: tuple[Firing, ...] = field(default=())
    clash: Clash | None = None
    """What a schedule has to show; not part of the machine-readable form."""
    path: tuple[str, ...] = ()
    """LF003: the declaration that holds the name, as in `("routes", "decode")`; not machine-readable either."""

    def as_dict(self) -> dict[str, Any]:
        """The machine-readable form; its field names are fixed by the language."""
        return {
            "file": self.location.file,
            "line": self.location.line,
            "column": self.location.column,
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "help": self.help,
            "nodes": list(self.nodes),
            "buffer": self.buffer,
            "route": self.route,
            "schedule": [asdict(firing) for firing in self.schedule],
        }

    def __str__(self) -> str:
        place = f"{self.location.file}:{self.location.line}:{self.location.column}"
        text = f"{place}: {self.code} {self.message}"
        return f"{text}\n  help: {self.help}" if self.help else text


class TopologyError(Exception):
    """A topology cannot be used; `diagnostics` says why.

    A program that does not fit its executor is a `BindError`.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))
