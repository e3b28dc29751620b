"""`laneflow diff`: what differs between two topologies, and what that does."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from fractions import Fraction

from graph.cli.command import UsageError
from graph.cli.plan import add_holds, parse_holds, recorded_costs
from graph.cli.single import known_route, sound, tell
from graph.cli.sources import Sources
from graph.cli.targets import expand, split_words
from graph.cli.terminal import out
from graph.difference import changes
from graph.durations import durations_of
from graph.order_difference import guarantees, waits
from graph.plan import predict
from graph.program import compile
from graph.render.diff import Comparison, as_dict, render
from graph.topology import Topology


class Diff:
    """The comparison on stdout. Overrides among the words hold for both topologies, -a and -b for one."""

    help = "compare two topologies: what differs, and what it does to period, memory and order"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = (
            "exit codes: 0 compared, 1 one is not sound (or they differ, with --exit-code), 2 wrong usage; "
            "with one TOPOLOGY, it is compared with itself under other overrides"
        )
        parser.add_argument(
            "words",
            nargs="+",
            metavar="TOPOLOGY|key=value",
            help="one or two files, shipped names, or - for standard input; "
            "a word such as costs.dispatch=20 overrides that value in both",
        )
        parser.add_argument(
            "-a", action="append", default=[], metavar="key=value", help="override in the first alone"
        )
        parser.add_argument(
            "-b", action="append", default=[], metavar="key=value", help="override in the second alone"
        )
        parser.add_argument("--route", metavar="NAME", help="predict for this route; by default each's first")
        parser.add_argument(
            "--costs", metavar="TRACE", help="take the durations from a recorded run, not from `costs:`"
        )
        add_holds(parser)
        parser.add_argument("--json", action="store_true", help="as one JSON object")
        parser.add_argument("--exit-code", action="store_true", help="exit with 1 where they differ")

    def run(self, args: Namespace) -> int:
        targets, overrides = split_words(args.words)
        pair = _pair(targets, args)
        sources = Sources()
        both = [
            sound(sources, target, [*overrides, *own])
            for target, own in zip(pair, (args.a, args.b), strict=True)
        ]
        first, second = both
        if first is None or second is None:
            return 1
        found = _compared(first, second, args)
        if args.json:
            out(json.dumps(as_dict(found), indent=2))
        else:
            tell(render(found))
        return int(bool(args.exit_code and found.changes))


def _pair(targets: Sequence[str], args: Namespace) -> tuple[str, str]:
    files = [file for target in targets for file in expand([target])]
    if len(files) == 1 and (args.a or args.b):
        files *= 2
    if len(files) != 2:
        raise UsageError(f"diff compares two topologies, not {len(files) or 'none'}; or one with -a or -b")
    return files[0], files[1]


def _compared(first: Topology, second: Topology, args: Namespace) -> Comparison:
    held = parse_holds(args.holds, first, second)
    routes = [known_route(topology, args.route) for topology in (first, second)]
    one, other = (
        predict(
            topology,
            _times(topology, route, args.costs),
            route,
            {name: _of(topology, nodes) for name, nodes in held.items()},
        )
        for topology, route in zip((first, second), routes, strict=True)
    )
    return Comparison(
        one,
        other,
        changes(first, second),
        guarantees(one.graph, other.graph, {**one.times, **other.times}),
        waits(compile(first), compile(second)),
    )


def _of(topology: Topology, nodes: Sequence[str]) -> tuple[str, ...]:
    return tuple(node for node in nodes if node in topology.nodes)


def _times(topology: Topology, route: str, trace: str | None) -> Mapping[str, Fraction]:
    return durations_of(topology, recorded_costs(trace, topology, route) if trace else None).times


DIFF = Diff()
