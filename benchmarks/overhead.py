"""What a step of empty nodes costs, from 3 to 48 nodes on 1 to 8 lanes, spans recorded.

A plane through the figures tells what each part adds: a wait that crosses lanes, a node, and a slot that is taken and
given back. The picture has a line for each number of lanes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.chains import chain
from benchmarks.line_chart import Curve, line_chart
from benchmarks.machine import machine
from benchmarks.results import RESULTS
from graph import Context, Executor, Runtime, Step, compile
from graph.draw import png, svg
from graph.render.table import table

NODES = (3, 6, 12, 24, 48)
LANES = (1, 2, 4, 8)
WARM_UP = 0.1


class Empty:
    """A node of any kind that does nothing."""

    ports = None

    def start(self, context: Context) -> None:
        pass

    def run(self, step: Step, slots: Any) -> None:
        pass

    def stop(self) -> None:
        pass


class Layout(NamedTuple):
    nodes: int
    lanes: int
    buffers: int = 1
    scattered: bool = False


@dataclass(frozen=True)
class Point:
    """One layout, its number of waits that cross lanes, and microseconds per step."""

    nodes: int
    lanes: int
    buffers: int
    scattered: bool
    crossings: int
    step_us: float


@dataclass(frozen=True)
class Fit:
    """Microseconds; least squares of the relative distances of all points from the plane."""

    constant: float
    crossing: float
    node: float
    slot: float
    median_residual: float
    """Relative: 0.1 where half of the points are nearer than a tenth."""


def layouts(most_nodes: int) -> Iterator[Layout]:
    """Chains in parts, for the picture; scattered ones and ones with more buffers, for the fit."""
    for nodes in (one for one in NODES if one <= most_nodes):
        for lanes in (one for one in LANES if one <= nodes):
            yield Layout(nodes, lanes)
        yield Layout(nodes, 3, scattered=True)
        yield Layout(nodes, 1, buffers=4)
        yield Layout(nodes, 3, buffers=4)


def step_us(layout: Layout, steps: int) -> tuple[int, float]:
    """The crossing waits of a layout, and what a step takes between the last nodes of two steps."""
    topology = chain(*layout[:3], scattered=layout.scattered)
    program = compile(topology)
    executor = Executor({node: Empty() for node in topology.nodes})
    with Runtime(program, executor, queue=steps) as run:
        for step in range(steps):
            run.submit(step)
    ends = [span.end for span in run.spans() if span.node == f"n{layout.nodes - 1}"]
    first = round(steps * WARM_UP)
    return len(program.channels), (ends[-1] - ends[first]) / (len(ends) - 1 - first) / 1e3


def measure(most_nodes: int, steps: int, rounds: int) -> list[Point]:
    """The median over interleaved rounds."""
    found: dict[Layout, list[tuple[int, float]]] = {}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for layout in layouts(most_nodes):
            found.setdefault(layout, []).append(step_us(layout, steps))
    return [
        Point(*layout, own[0][0], statistics.median(time for _, time in own)) for layout, own in found.items()
    ]


def fit(points: Sequence[Point]) -> Fit:
    """The plane: what a step costs beside what its crossings, nodes and slots do."""
    known = np.array([[1, one.crossings, one.nodes, one.buffers] for one in points], dtype=float)
    times = np.array([one.step_us for one in points])
    found = np.linalg.lstsq(known / times[:, None], np.ones(len(points)), rcond=None)[0]
    constant, crossing, node, slot = map(float, found)
    return Fit(constant, crossing, node, slot, float(np.median(np.abs(known @ found / times - 1))))


def curves(points: Sequence[Point]) -> list[Curve]:
    """One for each number of lanes, of the chains in parts with one buffer."""
    plain = [one for one in points if not one.scattered and one.buffers == 1]
    return [
        Curve(
            f"{lanes} lane{'s' if lanes > 1 else ''}",
            [(float(one.nodes), one.step_us) for one in plain if one.lanes == lanes],
        )
        for lanes in dict.fromkeys(one.lanes for one in plain)
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument("--nodes", type=int, default=max(NODES), help="at most (default %(default)s)")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args(argv)
    before = machine()
    points = measure(args.nodes, args.steps, args.rounds)
    fitted = fit(points)
    rows = [
        [*map(str, (one.nodes, one.lanes, one.buffers, one.crossings)), f"{one.step_us:.1f}"]
        for one in points
    ]
    print("\n".join(table(["nodes", "lanes", "slots taken", "crossing waits", "step, µs"], rows)))
    print(
        f"{fitted.crossing:.2f} µs for a crossing wait, {fitted.node:.2f} for a node, {fitted.slot:.2f} for a slot, "
        f"{fitted.constant:.2f} for the step; median residual {fitted.median_residual:.0%}"
    )
    scene = line_chart(curves(points), "What a step of empty nodes costs", "nodes", "microseconds per step")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "overhead.svg").write_text(svg.render(scene), encoding="utf-8")
    (args.out / "overhead.png").write_bytes(png.render(scene))
    told = {"machine": before, "points": [asdict(one) for one in points], "fit": asdict(fitted)}
    (args.out / "overhead.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
