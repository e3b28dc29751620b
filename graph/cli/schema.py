"""`laneflow schema`: the JSON schema of topology files, for editors."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from graph.cli.terminal import out
from graph.schema import file_schema


class Schema:
    """The schema on stdout."""

    help = "print the JSON schema of topology files, for completion and checks in an editor"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.epilog = "an editor finds it by a file's first line: # yaml-language-server: $schema=FILE"

    def run(self, args: Namespace) -> int:
        del args
        out(json.dumps(file_schema(), indent=2))
        return 0


SCHEMA = Schema()
