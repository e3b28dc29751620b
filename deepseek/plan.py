"""A step that has been planned, and whom it touches."""

from __future__ import annotations

from dataclasses import dataclass

from deepseek.steps import Batch, Malformed, Retire, Row
from deepseek.tenancy import Entry, Tenancy


@dataclass(frozen=True)
class Plan:
    """One step. `places` and `chunks` are those of the command, in order."""

    command: Batch | Retire | Malformed
    places: tuple[Tenancy, ...] = ()
    chunks: tuple[Tenancy, ...] = ()
    retired: tuple[Tenancy, ...] = ()
    refused: Entry | None = None

    @property
    def route(self) -> str:
        return "retire" if isinstance(self.command, Retire) else self.command.route

    @property
    def touched(self) -> tuple[Tenancy, ...]:
        return (*self.chunks, *self.places, *self.retired)

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(stay.row for stay in self.touched)

    @property
    def first_tokens(self) -> tuple[Tenancy, ...]:
        """Those whose prompt ends in this step."""
        if not isinstance(self.command, Batch):
            return ()
        pairs = zip(self.chunks, self.command.chunks, strict=True)
        return tuple(stay for stay, chunk in pairs if chunk.following is None)
