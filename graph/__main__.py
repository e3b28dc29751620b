"""`python -m graph` is the `laneflow` command."""

import sys

from graph.cli import main

sys.exit(main())
