"""What an engine has done so far, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from deepseek.requests import Finish


@dataclass
class Stats:
    """Counters of one engine. Outputs that are dropped, as their request was over, are in `steps` alone."""

    requests: Counter[Finish] = field(default_factory=Counter)
    """Requests that have ended, by how."""
    steps: Counter[str] = field(default_factory=Counter)
    """Steps whose outcome is known, by route."""
    tokens: int = 0
    """Tokens that were told."""
    places: int = 0
    """Places in decode steps that committed tokens: one of a request in a step."""
    committed: int = 0
    """Tokens that these committed, told or behind a stop."""
    drafts: int = 0
    """Drafts that these had: rows - 1 a place."""
    preemptions: int = 0
    pages_most: int = 0
    """Most pages in use at one time."""
    withdrawn_rows: int = 0
    """Rows kept out of use with their pages, as a device call on them was not proved to have finished."""

    @property
    def accepted(self) -> int:
        """Drafts that were right."""
        return self.committed - self.places

    @property
    def acceptance(self) -> float | None:
        """Share of drafts that were right; None where there were none."""
        return self.accepted / self.drafts if self.drafts else None

    @property
    def tokens_per_step(self) -> float | None:
        """Tokens that a request gets of a decode step on average; None before the first."""
        return self.committed / self.places if self.places else None

    def summary(self) -> list[tuple[str, str]]:
        """Names and values for a table."""
        rows = [
            ("requests", _by(self.requests)),
            ("steps by route", _by(self.steps)),
            ("tokens", str(self.tokens)),
        ]
        if self.tokens_per_step is not None:
            rows.append(("tokens per step", f"{self.tokens_per_step:.2f} a request"))
        if self.acceptance is not None:
            rows.append(("drafts accepted", f"{self.accepted} of {self.drafts} ({self.acceptance:.1%})"))
        rows.append(("pages in use at most", str(self.pages_most)))
        if self.preemptions:
            rows.append(("preemptions", str(self.preemptions)))
        return rows


def _by(counts: Counter[Finish] | Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"
