"""The text behind the targets of a command line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from graph.cli.targets import STDIN
from graph.diagnostics import TopologyError
from graph.files import read_stdin, read_text
from graph.reading import load, load_text
from graph.topology import Topology
from graph.yaml_tree import LINE_END

STDIN_FILE = "<stdin>"
"""What standard input is called in diagnostics."""


class Sources:
    """Files by name, and standard input, which is read once and kept."""

    @cached_property
    def stdin(self) -> str:
        """All of standard input; raises `TopologyError` (LF001) where it cannot be a topology."""
        return read_stdin()

    def load(self, target: str, overrides: Sequence[str]) -> Topology:
        """The topology of a file, or of standard input for `-`; raises `TopologyError`."""
        return load_text(self.stdin, STDIN_FILE, overrides) if target == STDIN else load(target, overrides)

    def text(self, target: str) -> str:
        """The text of a file, or of standard input for `-`; raises `TopologyError` (LF001)."""
        return self.stdin if target == STDIN else read_text(Path(target))

    def lines(self, file: str) -> Sequence[str]:
        """The lines of a file that a diagnostic names; none where it is not a readable file."""
        try:
            text = self.stdin if file == STDIN_FILE else read_text(Path(file))
        except TopologyError:
            return ()
        return LINE_END.split(text)
