"""What a topology hides: the shipped topologies over simulated nodes, side by side in one run.

The host works 4.4 ms holding the interpreter lock, the device 45 ms leaving it free, reclaim 2 ms holding it. Then the
same with a device of 5 ms, where the host's 6.4 ms of Python per step are too much for one interpreter: as it is, and
with `prepare` in a process of its own, by overrides alone. Rounds are interleaved, so that a disturbance of the machine
falls on all; the tables have the medians over rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Sequence

from graph import Runtime, compile, load
from graph.durations import durations_of
from graph.plan import predict
from graph.report import Report, report
from nodes.simulated import simulated

TOPOLOGIES = ("sync", "latebind", "overlap", "pingpong", "deep")
FAST = "costs.dispatch=5"
THREE_SLOTS = ("buffers.inputs.slots=3", "buffers.outputs.slots=3")
CROWDED = {
    "`pingpong`": (FAST,),
    "three slots": (FAST, *THREE_SLOTS),
    "three slots, `lanes.host.worker=process`": (FAST, *THREE_SLOTS, "lanes.host.worker=process"),
}
"""Overrides of `pingpong` for a device of 5 ms."""
MORE = 6
"""Times as many of the short steps."""


def measure(name: str, steps: int, overrides: Sequence[str] = ()) -> Report:
    """One run of a topology."""
    topology = load(name, overrides)
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


def crowded_table(rounds: dict[str, list[Report]]) -> str:
    """Measured beside predicted periods of a device of 5 ms."""
    lines = [
        "| `pingpong`, 5 ms device | predicted, ms | set by | measured, ms | `gap_true`, ms |",
        "|---|---|---|---|---|",
    ]
    for name, reports in rounds.items():
        topology = load("pingpong", CROWDED[name])
        predicted = predict(topology, durations_of(topology).times)
        period, gap = (
            statistics.median(value.median if value else 0.0 for value in values)
            for values in ([one.period for one in reports], [one.gap_true for one in reports])
        )
        lines.append(
            f"| {name} | {float(predicted.period):.3f} | {predicted.limit.text} | {period:.3f} | {gap:.3f} |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(argv)
    rounds: dict[str, list[Report]] = {name: [] for name in TOPOLOGIES}
    crowded: dict[str, list[Report]] = {name: [] for name in CROWDED}
    for _ in range(args.rounds):
        for name in TOPOLOGIES:
            rounds[name].append(measure(name, args.steps))
        for name, overrides in CROWDED.items():
            crowded[name].append(measure("pingpong", MORE * args.steps, overrides))
    print(
        f"{args.rounds} rounds of {args.steps} steps, load {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors\n"
    )
    print(table(rounds))
    print("\n" + crowded_table(crowded))


if __name__ == "__main__":
    main()
