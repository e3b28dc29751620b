"""`--select` and `--ignore`: which codes a validation reports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from graph.cli.command import UsageError

ALWAYS = "LF0"
"""Where one of these occurs nothing else is decided, so leaving it out would call a broken file sound."""


@dataclass(frozen=True)
class Selection:
    """Prefixes of codes: what is reported is selected, or nothing is selected, and not ignored."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    @classmethod
    def parse(cls, select: Iterable[str], ignore: Iterable[str]) -> Selection:
        """From the options' words; raises `UsageError` for a code that is none or cannot be ignored."""
        selection = cls(tuple(_prefixes(select)), tuple(_prefixes(ignore)))
        for prefix in selection.ignore:
            if prefix.startswith(ALWAYS):
                raise UsageError(f"{prefix} cannot be ignored: where it occurs nothing else is decided")
        return selection

    @property
    def narrows(self) -> bool:
        """Whether anything is left out."""
        return bool(self.select or self.ignore)

    def keeps(self, code: str) -> bool:
        """Whether diagnostics with this code are reported."""
        if code.startswith(ALWAYS):
            return True
        return (not self.select or code.startswith(self.select)) and not code.startswith(self.ignore)


def _prefixes(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        for prefix in re.split(r"[,\s]+", word.strip().upper()):
            _check(prefix)
            yield prefix


def _check(prefix: str) -> None:
    from graph.rules.catalogue import catalogue  # read only where codes are named

    if not prefix.startswith("LF") or not any(code.startswith(prefix) for code in catalogue()):
        raise UsageError(f"no code starts with `{prefix}`; `laneflow explain` lists them")
