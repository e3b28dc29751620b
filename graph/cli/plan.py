"""`laneflow plan`: what a topology's period will be, and what would change it."""

from __future__ import annotations

import json
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size

from graph.cli.command import UsageError
from graph.cli.single import known_name, known_route, single, sound, tell
from graph.cli.sources import Sources
from graph.cli.targets import split_words
from graph.cli.terminal import out
from graph.durations import durations_of
from graph.plan import first_steps, plan, predict
from graph.render import plan as shown
from graph.resources import Holders
from graph.topology import Topology

MOST_STEPS = 1000
"""Steps in the schedule at most."""


class Plan:
    """The prediction on stdout; what is wrong with an unsound topology on stderr, and no prediction."""

    help = "predict the period of a topology: what sets it, which slots are of use, the memory they take"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = "exit codes: 0 planned, 1 the topology is not sound, 2 wrong usage or no such file"
        parser.add_argument(
            "words",
            nargs="+",
            metavar="TOPOLOGY|key=value",
            help="a file, a shipped topology's name, or - for standard input; "
            "a word such as costs.dispatch=20 overrides that value",
        )
        parser.add_argument("--route", metavar="NAME", help="all steps take this route; by default the first")
        parser.add_argument(
            "--costs", metavar="TRACE", help="take the durations from a recorded run, not from `costs:`"
        )
        add_holds(parser)
        parser.add_argument(
            "--sweep",
            action="append",
            default=[],
            metavar="PATH=VALUES",
            help="a table of choices instead: buffers.*.slots=1..4 gives all buffers 1, 2, 3, 4 slots; "
            "several of them are combined",
        )
        parser.add_argument(
            "--steps", type=int, default=4, metavar="N", help="steps in the schedule (default %(default)s)"
        )
        parser.add_argument("--json", action="store_true", help="as one JSON object")

    def run(self, args: Namespace) -> int:
        if not 1 <= args.steps <= MOST_STEPS:
            raise UsageError(f"--steps takes 1 to {MOST_STEPS}")
        targets, overrides = split_words(args.words)
        target, sources = single(targets, "plan"), Sources()
        topology = sound_unless_swept(sources, target, overrides, args.sweep)
        if topology is None:
            return 1
        route = known_route(topology, args.route)
        recorded = recorded_costs(args.costs, topology, route) if args.costs else {}
        held = parse_holds(args.holds, topology)
        if args.sweep:
            from graph.cli.sweeping import Sweep  # only here are many topologies read

            return Sweep(sources, target, overrides, route, recorded, held).run(
                args.sweep, topology, args.json
            )
        durations = durations_of(topology, recorded)
        planned = plan(predict(topology, durations.times, route, held))
        firings = first_steps(planned.prediction, args.steps)
        if args.json:
            out(json.dumps(shown.as_dict(planned, durations, firings), indent=2))
        else:
            tell(shown.render(planned, durations, firings, get_terminal_size((100, 24)).columns))
        return 0


def sound_unless_swept(
    sources: Sources, target: str, overrides: Sequence[str], swept: Sequence[str]
) -> Topology | None:
    """The topology, sound, unless a sweep changes it anyway: then it only has to be readable."""
    from graph.diagnostics import TopologyError

    if swept:
        try:
            return sources.load(target, overrides)
        except TopologyError:
            pass  # told below
    return sound(sources, target, overrides)


def add_holds(parser: ArgumentParser) -> None:
    """Declare `--holds`."""
    parser.add_argument(
        "--holds",
        action="append",
        default=[],
        metavar="RESOURCE=NODE,...",
        help="which nodes hold a resource that only one has at a time; assumed: accelerator=all dispatches but "
        "copies, interpreter=all other nodes (never those on process lanes, which have their own); "
        "`interpreter=` is none; other names are yours",
    )


def parse_holds(words: Sequence[str], *topologies: Topology) -> Holders:
    """What `--holds` says; raises `UsageError` for another form, and for a node that no topology has."""
    nodes = list(dict.fromkeys(name for topology in topologies for name in topology.nodes))
    held: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, listed = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--holds {word}: write RESOURCE=NODE,... as in interpreter=prepare,reclaim")
        given = [node.strip() for node in listed.split(",") if node.strip()]
        held[name.strip()] = tuple(known_name(node, nodes, f"--holds {word}: no node") for node in given)
    return held


def recorded_costs(file: str, topology: Topology, route: str) -> Mapping[str, float]:
    """Median durations in milliseconds from a recorded run.

    Raises `UsageError` where it cannot be read or has none of the topology's nodes.
    """
    from graph.trace_file import TraceError, durations  # only here is a trace read

    try:
        found = durations(file, route)
    except TraceError as error:
        raise UsageError(str(error)) from error
    if not all(0 <= cost < math.inf for cost in found.values()):
        raise UsageError(f"{file}: a duration in it is no number of milliseconds: record the run again")
    if not found.keys() & topology.nodes.keys():
        raise UsageError(f"{file}: no node of `{topology.topology}` fired on a step of route `{route}`")
    return found


PLAN = Plan()
