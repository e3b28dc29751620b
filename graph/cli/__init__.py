"""The `laneflow` command: one word picks a command, and only that command's module is imported.

An application adds commands through the entry point group `laneflow.commands`: each entry is the name of a
command and an object that is a `Command`. Its module is imported when the command is called and when
`laneflow --help` lists it, so it must be light: what is heavy (torch, the model) belongs inside `run`.

Exit codes: what the command returns; 2 for wrong usage and for a stream that is closed or full; 1 for a fault of
our own; 130 when interrupted, 143 when terminated (SIGTERM), either after what has begun was ended in order; 141 when
whoever reads the output has gone.
"""

from __future__ import annotations

import difflib
import os
import signal
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING

from graph.cli.command import Command, UsageError
from graph.cli.failure import internal_error
from graph.cli.terminal import OutputError, err, flush

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "laneflow.commands"
BUILT_IN = {
    "new": "graph.cli.new:NEW",
    "validate": "graph.cli.validate:VALIDATE",
    "plan": "graph.cli.plan:PLAN",
    "diff": "graph.cli.diff:DIFF",
    "list": "graph.cli.listing:LIST",
    "show": "graph.cli.show:SHOW",
    "trace": "graph.cli.trace:TRACE",
    "report": "graph.cli.report:REPORT",
    "explain": "graph.cli.explain:EXPLAIN",
    "schema": "graph.cli.schema:SCHEMA",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, `sys.argv` by default, and return its exit code; no exception leaves it."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(
            stream, "reconfigure"
        ):  # names from a file may have characters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:  # how Python starts where the descriptor is closed
        err("laneflow: standard output is closed")
        return 2
    try:
        with _termination_raised():
            code = _called(words)
            flush()
        return code
    except UsageError as error:
        err(f"laneflow: {error}")
        return 2
    except BrokenPipeError:
        _discard_the_rest()
        return 141
    except OutputError as error:
        _discard_the_rest()
        with suppress(OutputError):
            err(f"laneflow: {error}")
        return 2
    except Terminated:
        return 143
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        err(f"laneflow: {internal_error(error)}")
        return 1


class Terminated(KeyboardInterrupt):
    """SIGTERM, which is how a container or a service manager stops a command: treated as Ctrl-C is."""


@contextmanager
def _termination_raised() -> Iterator[None]:
    """`Terminated` where SIGTERM would end the process at once, and leave behind what it has begun."""
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield  # whoever called `main` has set up signals
        return
    signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminated(number: int, frame: object) -> None:
    raise Terminated


def _called(words: list[str]) -> int:
    try:
        return _overview(words) if not words or words[0].startswith("-") else _command(words[0], words[1:])
    except SystemExit as stop:  # how argparse ends for --help and for wrong usage
        return stop.code if isinstance(stop.code, int) else 2


def _discard_the_rest() -> None:
    """What stdout has not taken goes nowhere, or the interpreter fails flushing it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _overview(words: list[str]) -> int:
    from importlib import metadata  # slow to import, and a plain validation does without

    parser = ArgumentParser(
        prog="laneflow", description=metadata.metadata("laneflow")["Summary"], usage="laneflow COMMAND ..."
    )
    parser.add_argument("--version", action="version", version=f"laneflow {metadata.version('laneflow')}")
    commands = parser.add_subparsers(title="commands (laneflow COMMAND --help tells more)", metavar="COMMAND")
    for name, text in _helps().items():
        commands.add_parser(name, help=text.replace("%", "%%"), add_help=False)
    parser.parse_args(words)
    parser.print_help(sys.stderr)
    return 2


def _helps() -> dict[str, str]:
    """Every command with its line of help; an application that cannot be imported is still named."""
    helps = {name: _load(reference).help for name, reference in BUILT_IN.items()}
    for entry in _applications():
        if entry.name in helps:
            continue
        try:
            helps[entry.name] = entry.load().help
        except Exception as error:
            helps[entry.name] = f"cannot be loaded from {entry.value}: {type(error).__name__}: {error}"
    return helps


def _command(name: str, words: list[str]) -> int:
    command = _find(name)
    parser = ArgumentParser(prog=f"laneflow {name}", description=command.help)
    command.add_arguments(parser)
    return command.run(parser.parse_intermixed_args(words))


def _find(name: str) -> Command:
    if name in BUILT_IN:
        return _load(BUILT_IN[name])
    entries = _applications()
    if name not in entries.names:
        known = [*BUILT_IN, *sorted(entries.names)]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"commands: {', '.join(known)}"
        raise UsageError(f"no command `{name}`; {hint}")
    try:
        command: Command = entries[name].load()
    except ImportError as error:
        raise UsageError(f"`{name}` cannot be loaded from {entries[name].value}: {error}") from error
    return command


def _applications() -> EntryPoints:
    from importlib import metadata

    return metadata.entry_points(group=GROUP)


def _load(reference: str) -> Command:
    module, _, attribute = reference.partition(":")
    command: Command = getattr(import_module(module), attribute)
    return command
