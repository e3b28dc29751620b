"""One peer, one workload, one fresh process: writes the calls as JSON, or why there are none."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from benchmarks.work import Calls, Unavailable, Work, check
from benchmarks.workloads import WORKLOADS, product_size, stray


def measure(peer: str, work: Work, beside: bool) -> dict[str, Any]:
    """The calls in nanoseconds since the first, and what the peer did not keep to."""
    load = os.getloadavg()[0]
    try:
        run = importlib.import_module(f"benchmarks.peers.{peer}").run
        with stray(beside):
            calls: Calls = run(work)
    except (ImportError, Unavailable) as error:
        return {"unavailable": str(error)}
    origin = calls.prepare[0][0] if calls.prepare else 0
    return {
        "calls": {
            name: [[start - origin, end - origin, own] for start, end, own in kept]
            for name, kept in vars(calls).items()
        },
        "breaches": check(calls, work),
        "load": load,
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", nargs="?", help="a module of benchmarks.peers; none: the size of the product")
    parser.add_argument("--workload", choices=WORKLOADS, default="W1")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--size", type=int, default=0)
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")  # those of the peers' own code
    answer = sys.stdout
    sys.stdout = sys.stderr  # what a peer prints is not the answer
    if args.peer is None:
        print(product_size(), file=answer)
        return
    workload = WORKLOADS[args.workload]
    json.dump(measure(args.peer, workload.work(args.steps, args.size), workload.stray), answer)


if __name__ == "__main__":
    main()
