"""`laneflow show`: a picture of a topology."""

from __future__ import annotations

import difflib
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from shutil import get_terminal_size

from graph.cli.checking import Check
from graph.cli.command import UsageError
from graph.cli.sources import STDIN_FILE, Sources
from graph.cli.targets import STDIN, expand, shown, split_words
from graph.cli.terminal import coloured, err, out
from graph.diagnostics import TopologyError
from graph.draw.formats import FORMATS, Format
from graph.draw.view import View, view
from graph.render import text
from graph.topology import Topology
from graph.validate import diagnose

UNDRAWABLE = ("LF001", "LF002", "LF003", "LF004", "LF005", "LF101")
"""Faults with which there is no graph to draw."""


class Show:
    """The picture goes to stdout or to a file; faults in what can still be drawn are named on stderr."""

    help = "draw a topology: lanes, nodes, edges, and who owns each slot"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = (
            "exit codes: 0 drawn, 1 a fault that leaves nothing to draw, or a stale file, 2 wrong usage"
        )
        parser.add_argument(
            "words",
            nargs="+",
            metavar="TOPOLOGY|key=value",
            help="a file, a shipped topology's name, or - for standard input; "
            "a word such as buffers.inputs.slots=3 overrides that value",
        )
        parser.add_argument("--format", choices=FORMATS, help="by default that of FILE's suffix, or terminal")
        parser.add_argument("--route", metavar="NAME", help="only the nodes that a step of this route visits")
        target = parser.add_mutually_exclusive_group()
        target.add_argument("--out", metavar="FILE", help="write the picture to this file")
        target.add_argument(
            "--check", metavar="FILE", help="fail if this file is not the picture that --out would write"
        )

    def run(self, args: Namespace) -> int:
        name = _format(args.format, args.out or args.check)
        if name == "png" and not (args.out or args.check):
            raise UsageError("a png is no text: name a file with --out FILE")
        target, overrides = _target(args.words)
        sources = Sources()
        topology = _drawable(sources, target, overrides)
        if topology is None:
            return _refuse(sources, target, overrides)
        seen = _view(topology, args.route)
        if seen.faults:
            codes = ", ".join(dict.fromkeys(fault.code for fault in seen.faults))
            err(f"{_name(target)}: drawn with faults ({codes}); `laneflow validate` explains them")
        if args.out:
            _write(Path(args.out), _drawn(seen, FORMATS[name]))
            return 0
        if args.check:
            return _compare(Path(args.check), seen, FORMATS[name])
        out(_printed(seen, name))
        return 0


def _format(name: str | None, file: str | None) -> str:
    if name is not None:
        return name
    if file is None:
        return "terminal"
    suffix = Path(file).suffix.lower()
    for known, drawn in FORMATS.items():
        if suffix in drawn.suffixes:
            return known
    suffixes = ", ".join(one for drawn in FORMATS.values() for one in drawn.suffixes)
    raise UsageError(f"`{file}`: no format has this suffix; use --format, or one of {suffixes}")


def _target(words: list[str]) -> tuple[str, list[str]]:
    targets, overrides = split_words(words)
    files = expand(targets)
    if len(files) != 1:
        raise UsageError(f"show draws one topology, not {len(files)}")
    return files[0], overrides


def _drawable(sources: Sources, target: str, overrides: list[str]) -> Topology | None:
    """The topology, unless it has a fault that leaves nothing to draw."""
    try:
        topology = sources.load(target, overrides)
    except TopologyError:
        return None
    return None if any(one.code in UNDRAWABLE for one in diagnose(topology)) else topology


def _refuse(sources: Sources, target: str, overrides: list[str]) -> int:
    """What `laneflow validate` says about it."""
    outcomes = list(Check(sources, overrides).outcomes(target))
    err(f"{text.render(outcomes, sources.lines, coloured(sys.stderr))}\n")
    err(text.summary(outcomes))
    return 1


def _view(topology: Topology, route: str | None) -> View:
    routes = topology.steps_routes()
    if route is not None and route not in routes:
        close = difflib.get_close_matches(route, routes, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"it has {', '.join(routes)}"
        raise UsageError(f"`{topology.topology}` has no route `{route}`; {hint}")
    return view(topology, route, diagnose(topology))


def _name(target: str) -> str:
    return STDIN_FILE if target == STDIN else shown(target)


def _printed(seen: View, name: str) -> str:
    if name != "terminal":
        return _drawn(seen, FORMATS[name]).decode().removesuffix("\n")
    from graph.draw import terminal

    width = get_terminal_size((100, 24)).columns
    return terminal.render(seen, width, coloured(sys.stdout)).removesuffix("\n")


def _drawn(seen: View, drawn: Format) -> bytes:
    try:
        return drawn.render(seen)
    except ModuleNotFoundError as error:
        raise UsageError(f"a png is drawn with Pillow ({error}): install laneflow[png]") from error
    except ValueError as error:
        raise UsageError(str(error)) from error


def _write(file: Path, picture: bytes) -> None:
    try:
        file.write_bytes(picture)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be written: {error.strerror}") from error


def _compare(file: Path, seen: View, drawn: Format) -> int:
    picture = _drawn(seen, drawn)
    try:
        found = file.read_bytes()
    except OSError as error:
        err(f"{file}: cannot be read: {error.strerror}; `laneflow show` with --out writes it")
        return 1
    try:
        current = drawn.same(found, picture)
    except OSError:
        current = False
    if not current:
        err(
            f"{file}: stale: the topology is drawn differently now; `laneflow show` with --out writes it anew"
        )
        return 1
    out(f"{file}: current")
    return 0


SHOW = Show()
