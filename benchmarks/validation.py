"""How long a topology takes to be proved and to be compiled, by its number of nodes.

Rows of decode steps on three lanes. The exponents are those of the straight line through the logarithms.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.chains import decode_row
from benchmarks.machine import machine
from benchmarks.results import RESULTS
from graph import compile, diagnose, validate
from graph.render.table import table

NODES = (30, 60, 125, 250, 500, 1000)
MOST_S = 2.0
"""A measurement that takes longer is not repeated."""


def milliseconds(act: Callable[[], object], repeats: int) -> float:
    """The median."""
    found: list[float] = []
    while len(found) < repeats and sum(found) < MOST_S:
        start = perf_counter()
        act()
        found.append(perf_counter() - start)
    return statistics.median(found) * 1e3


def measure(nodes: int, repeats: int) -> dict[str, float]:
    """Milliseconds for the proof, and for compiling what is proved."""
    topology = decode_row(nodes)
    errors = [found for found in diagnose(topology) if found.severity == "error"]
    assert not errors, errors
    proof = validate(topology)
    return {
        "prove": milliseconds(lambda: diagnose(topology), repeats),
        "compile": milliseconds(lambda: compile(proof), repeats),
    }


def exponent(nodes: Sequence[int], times: Sequence[float]) -> float:
    """The slope of log time over log nodes, least squares."""
    return float(np.polyfit(np.log(nodes), np.log(times), 1)[0])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validation", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=list(NODES), help="multiples of 5")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args(argv)
    found = {nodes: measure(nodes, args.repeats) for nodes in args.nodes}
    rows = [[str(nodes), *(f"{time:.1f}" for time in times.values())] for nodes, times in found.items()]
    if len(found) > 1:
        slopes = [
            exponent(list(found), [times[name] for times in found.values()]) for name in ("prove", "compile")
        ]
        rows.append(["exponent", *(f"{slope:.2f}" for slope in slopes)])
    print("\n".join(table(["nodes", "prove, ms", "compile, ms"], rows)))
    args.out.mkdir(parents=True, exist_ok=True)
    told = {"machine": machine(), "milliseconds": found}
    (args.out / "validation.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
