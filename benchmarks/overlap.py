"""What a topology hides: the shipped topologies over simulated nodes, side by side in one run.

The host works 4.4 ms holding the interpreter lock, the device 45 ms leaving it free, reclaim 2 ms holding it.
Rounds are interleaved, so that a disturbance of the machine falls on all; the table has the medians over rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Sequence

from graph import Runtime, compile, load
from graph.report import Report, report
from nodes.simulated import simulated

TOPOLOGIES = ("sync", "latebind", "overlap", "pingpong", "deep")


def measure(name: str, steps: int) -> Report:
    """One run of a topology."""
    topology = load(name)
    with Runtime(compile(topology), simulated(topology)) as run:
        for _ in run.map(range(steps)):
            pass
    return report(run.trace())


def table(rounds: dict[str, list[Report]]) -> str:
    """The figures as a table in Markdown."""
    lines = [
        "| topology | period, ms | `gap_py`, ms | `gap_true`, ms | prepare hidden | reclaim hidden |",
        "|---|---|---|---|---|---|",
    ]
    for name, reports in rounds.items():
        figures = [
            statistics.median(value.median if value else 0.0 for value in values)
            for values in (
                [one.period for one in reports],
                [one.gap_py for one in reports],
                [one.gap_true for one in reports],
            )
        ]
        prepare = (
            sum(one.prepare_overlap.count for one in reports),
            sum(one.prepare_overlap.of for one in reports),
        )
        reclaim = (
            sum(one.reclaim_overlap.count for one in reports),
            sum(one.reclaim_overlap.of for one in reports),
        )
        numbers = " | ".join(f"{figure:.3f}" for figure in figures)
        lines.append(
            f"| `{name}` | {numbers} | {prepare[0]} of {prepare[1]} | {reclaim[0]} of {reclaim[1]} |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    rounds: dict[str, list[Report]] = {name: [] for name in TOPOLOGIES}
    for _ in range(args.rounds):
        for name in TOPOLOGIES:
            rounds[name].append(measure(name, args.steps))
    print(
        f"{args.rounds} rounds of {args.steps} steps, load {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors\n"
    )
    print(table(rounds))


if __name__ == "__main__":
    main()
