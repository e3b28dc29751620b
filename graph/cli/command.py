"""What a command is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Protocol


class Command(Protocol):
    """One command. Its module is imported to list it in `laneflow --help`: import what is heavy in `run`."""

    @property
    def help(self) -> str:
        """One line, shown by `laneflow --help` and above the command's own options."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare arguments; options and positional words may be mixed on the command line."""

    def run(self, args: Namespace) -> int:
        """Do the work and return the exit code; raise `UsageError` where the command line makes no sense."""


class UsageError(Exception):
    """The command line is well formed and still cannot be carried out; the command exits with 2."""
