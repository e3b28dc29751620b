"""Launching ahead on a GPU: laneflow's stream lane beside lanes and hand-written threads that launch and wait.

The workloads are those of `python -m benchmarks` with matrix products on the device in place of its stand-ins; rounds
are interleaved, and the table has the medians over rounds. Then the bundled model is decoded through `stream` beside a
stray thread of Python, and its tokens are compared with the CPU's. The report in Markdown goes to standard output and,
with every run's figures as JSON, to the folder that --out names.

Exit codes: 0, 1 where tokens differ from the CPU's without a tie, 2 where there is no CUDA device.
On hardware: not yet run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks import gpu_decode
from benchmarks.gpu_decode import TARGET_MS, TIE, Decoding
from benchmarks.gpu_device import Cuda, Device, StandIn
from benchmarks.gpu_ways import WAYS, Figures, Load, measure
from benchmarks.workloads import WORKLOADS, Workload

Runs = dict[tuple[str, str], list[Figures]]
"""By workload and way, the figures of each round."""


@dataclass(frozen=True)
class Results:
    about: dict[str, str]
    rounds: int
    runs: Runs
    decoding: Decoding


def measured(
    device: Device, workloads: Sequence[Workload], rounds: int, steps: int | None, tokens: int
) -> Results:
    """`steps` None is each workload's own number."""
    kernels = {one.device_ms: device.kernel(one.device_ms) for one in workloads}
    runs: Runs = {(one.name, way): [] for one in workloads for way in WAYS}
    for number in range(rounds):
        for workload in workloads:
            say(f"round {number + 1} of {rounds}, {workload.name}")
            load = Load(workload, device, kernels[workload.device_ms], steps or workload.steps)
            for title, way in WAYS.items():
                runs[workload.name, title].append(measure(way, load))
    say("decoding")
    about = {"date": datetime.now(UTC).date().isoformat(), **device.about()}
    return Results(about, rounds, runs, gpu_decode.measure(device.name, tokens))


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def markdown(found: Results) -> str:
    """Ready to be put into docs/gpu.md."""
    about = ", ".join(f"{name} {value}" for name, value in found.about.items())
    return "\n".join(
        [f"{about}. Medians over rounds: {found.rounds}.", "", *ways(found.runs), "", *decoding(found)]
    )


def ways(runs: Runs) -> list[str]:
    lines = [
        "| workload | way | period, ms | device step, ms | period / step alone | gap, median, ms | gap, p99, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for (workload, way), rounds in runs.items():
        one = over_rounds(rounds)
        ratio = "-" if one.ratio is None else f"{one.ratio:.3f}"
        numbers = [f"{one.period:.3f}", f"{one.step:.3f}", ratio, f"{one.gap:.3f}", f"{one.gap_p99:.3f}"]
        lines.append(f"| {workload} | {way} | {' | '.join(numbers)} |")
    return lines


def over_rounds(rounds: Sequence[Figures]) -> Figures:
    """The median of each figure."""

    def median(name: str) -> float:
        return float(statistics.median(getattr(one, name) for one in rounds))

    ratio = None if rounds[0].ratio is None else median("ratio")
    return Figures(median("period"), median("step"), median("gap"), median("gap_p99"), ratio)


def decoding(found: Results) -> list[str]:
    one, tokens = found.decoding, found.decoding.tokens
    numbers = " | ".join(
        "-" if x is None else f"{x:.3f}" for x in (one.period, one.step, one.gap, one.gap_p99)
    )
    met = "met" if one.met else "missed"
    names = [
        "period, ms",
        "device step, ms",
        "gap, median, ms",
        "gap, p99, ms",
        f"gap under {TARGET_MS:g} ms",
    ]
    lines = [
        f"| decode, bundled model, beside a stray thread | {' | '.join(names)} | tokens as on the CPU |",
        "|---|---|---|---|---|---|---|",
        f"| `stream`, {one.way} | {numbers} | {met} | {tokens.same} of {tokens.compared} |",
        "",
        f"Ties within {TIE:g}: {'; '.join(tokens.ties) or 'none'}.",
    ]
    return lines + [f"NOT A TIE: {fault}." for fault in tokens.faults]


def as_json(found: Results) -> str:
    runs = [
        {"workload": workload, "way": way, "round": number, **asdict(figures)}
        for (workload, way), rounds in found.runs.items()
        for number, figures in enumerate(rounds)
    ]
    told = {"about": found.about, "runs": runs, "decoding": asdict(found.decoding)}
    return json.dumps(told, indent=1)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=3, help="default %(default)s")
    parser.add_argument(
        "--steps", type=int, metavar="N", help="of every workload, at least 12 (default: its own)"
    )
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), metavar="NAME")
    parser.add_argument(
        "--tokens", type=int, default=96, metavar="N", help="new ones per request (default 96)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write gpu.md and gpu.json there")
    parser.add_argument(
        "--stand-in",
        action="store_true",
        help="run all of it on the CPU's queue: shows that it works, no more",
    )
    args = parser.parse_args(argv)
    if args.steps is not None and args.steps < 12:
        parser.error(f"--steps {args.steps}: figures need at least 12")
    if not args.stand_in and not torch.cuda.is_available():
        say("benchmarks.gpu: torch sees no CUDA device; --stand-in runs all of it on the CPU's queue")
        return 2
    torch.set_num_threads(1)
    device = StandIn() if args.stand_in else Cuda()
    workloads = [WORKLOADS[name] for name in args.workloads]
    found = measured(device, workloads, args.rounds, args.steps, args.tokens)
    told = markdown(found)
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "gpu.md").write_text(told + "\n", encoding="utf-8")
        (args.out / "gpu.json").write_text(as_json(found), encoding="utf-8")
    print(told)
    return 1 if found.decoding.tokens.faults else 0


if __name__ == "__main__":
    sys.exit(main())
