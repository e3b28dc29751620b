"""The verdict in a case file's header, and whether a validator's diagnostics are exactly that verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graph.diagnostics import Diagnostic

CASES = Path(__file__).parents[1] / "cases"


@dataclass(frozen=True)
class Expectation:
    """One `# expect:` line; what it leaves out is not compared."""

    code: str
    buffer: str | None = None
    nodes: frozenset[str] = frozenset()

    def matches(self, diagnostic: Diagnostic) -> bool:
        return (
            diagnostic.code == self.code
            and (self.buffer is None or self.buffer == diagnostic.buffer)
            and self.nodes <= set(diagnostic.nodes)
        )


def expectations(text: str) -> list[Expectation] | None:
    """The expectations of a case's text, none for a sound one; None where it has no header."""
    lines = [
        line.removeprefix("# expect:").split() for line in text.splitlines() if line.startswith("# expect:")
    ]
    if not lines:
        return None
    if lines == [["sound"]]:
        return []
    found = []
    for code, *pairs in lines:
        keys = dict(pair.split("=", 1) for pair in pairs)
        found.append(
            Expectation(code, keys.get("buffer"), frozenset(filter(None, keys.get("nodes", "").split(","))))
        )
    return found


def mismatch(expected: Sequence[Expectation], diagnostics: Sequence[Diagnostic]) -> str:
    """What keeps the two from matching one to one, advice aside; empty where they match."""
    listed = [diagnostic for diagnostic in diagnostics if diagnostic.code < "LF500"]
    pairs: dict[int, int] = {}

    def place(index: int, tried: set[int]) -> bool:
        for candidate, diagnostic in enumerate(listed):
            if candidate not in tried and expected[index].matches(diagnostic):
                tried.add(candidate)
                if candidate not in pairs or place(pairs[candidate], tried):
                    pairs[candidate] = index
                    return True
        return False

    missed = [str(expected[index]) for index in range(len(expected)) if not place(index, set())]
    false = [str(diagnostic) for index, diagnostic in enumerate(listed) if index not in pairs]
    return "\n".join([*(f"missed: {one}" for one in missed), *(f"false alarm: {one}" for one in false)])
