"""`laneflow list`: the topologies that come with laneflow."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from graph.cli.terminal import out
from graph.files import shipped
from graph.reading import load


class List:
    """One line a topology: its name and its summary; an abstract one is only a base for others."""

    help = "list the shipped topologies"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="as one JSON array")

    def run(self, args: Namespace) -> int:
        topologies = {name: load(path) for name, path in shipped().items()}
        if args.json:
            rows = [
                {
                    "name": name,
                    "summary": topology.summary,
                    "abstract": topology.abstract,
                    "file": str(shipped()[name]),
                }
                for name, topology in topologies.items()
            ]
            out(json.dumps(rows, indent=2))
            return 0
        width = max(map(len, topologies), default=0)
        for name, topology in topologies.items():
            mark = "(abstract) " if topology.abstract else ""
            out(f"{name:{width}}  {mark}{topology.summary}".rstrip())
        return 0


LIST = List()
