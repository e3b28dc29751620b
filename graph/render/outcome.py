"""What the check of one topology came to: what every renderer takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph.diagnostics import Diagnostic
from graph.topology import Topology


@dataclass(frozen=True)
class Outcome:
    """One target's result.

    `topology` is None where the file could not be read as one. `crash` is the account of an internal error,
    which leaves it undecided; `note` is something else to know. With `strict`, warnings fail too; advice
    never does. `partial` says that some codes were left out by choice.
    """

    file: str
    diagnostics: tuple[Diagnostic, ...] = ()
    topology: Topology | None = None
    crash: str = ""
    note: str = ""
    strict: bool = False
    partial: bool = False

    @property
    def failing(self) -> tuple[Diagnostic, ...]:
        """The diagnostics for which the topology is refused."""
        return tuple(diagnostic for diagnostic in self.diagnostics if self.refuses(diagnostic))

    def refuses(self, diagnostic: Diagnostic) -> bool:
        """Whether this is among the reasons to refuse the topology."""
        return diagnostic.severity == "error" or (self.strict and diagnostic.severity == "warning")

    @property
    def abstract(self) -> bool:
        """Whether it is only a base for others, and so could be checked only in part."""
        return self.topology is not None and self.topology.abstract

    @property
    def faulty(self) -> bool:
        """Whether the topology is refused."""
        return bool(self.failing or self.crash)


def every_diagnostic(outcomes: Sequence[Outcome]) -> list[Diagnostic]:
    """All diagnostics, each once: a fault in a shared base shows up in every topology that extends it."""
    return list(dict.fromkeys(diagnostic for outcome in outcomes for diagnostic in outcome.diagnostics))
