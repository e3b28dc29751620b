"""laneflow beside other ways to run the same three bodies as a pipeline.

Peers on the same workloads, side by side in interleaved rounds, each in a process of its own. A table in Markdown and
every single call as JSON go to the folder of results; the figures on one screen go to standard output.
`python -m benchmarks.gpu` has these workloads on a GPU.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.device import bare_gap_us, is_exact, lost_pages
from benchmarks.machine import machine
from benchmarks.peers.laneflow import TOPOLOGY
from benchmarks.render import as_json, blocks, markdown, screen
from benchmarks.results import RESULTS
from benchmarks.rounds import all_peers, run
from benchmarks.workloads import WORKLOADS, Workload
from graph import load

QUICK_STEPS = 12
QUICK_WORKLOADS = ["W2"]
SLOW_US = 20


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="default %(default)s")
    parser.add_argument("--peers", nargs="+", choices=all_peers(), default=list(all_peers()), metavar="PEER")
    parser.add_argument(
        "--workloads", nargs="+", choices=WORKLOADS, metavar="NAME", help="of " + ", ".join(WORKLOADS)
    )
    parser.add_argument(
        "--quick", action="store_true", help="one short round: shows that all works, and measures nothing"
    )
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder for the results (default %(default)s)"
    )
    args = parser.parse_args(argv)
    names = args.workloads or (QUICK_WORKLOADS if args.quick else list(WORKLOADS))
    workloads = [WORKLOADS[name] for name in names]
    rounds = 1 if args.quick else args.rounds

    def steps(workload: Workload) -> int:
        return QUICK_STEPS if args.quick else workload.steps

    before = {
        **machine(),
        "device": "exact" if is_exact() else "late, since there is no C compiler",
    }
    floor = Floor()
    found = run(
        workloads,
        args.peers,
        rounds,
        steps,
        lambda line: print(line, file=sys.stderr, flush=True),
        (lambda: None) if args.quick else floor.look,
    )
    shown = blocks(found, workloads, load(str(TOPOLOGY)))
    args.out.mkdir(parents=True, exist_ok=True)
    told = (found, shown, {**before, **floor.told(), "load at the end": machine()["load"]}, rounds)
    for name, text in (("peers.md", markdown(*told)), ("peers.json", as_json(*told))):
        (args.out / name).write_text(text, encoding="utf-8")
    print(screen(*told))


class Floor:
    """How late a thread is that has waited as long as the longest device: no way to overlap can be better than that.

    The host of a virtual machine may take away memory that nobody touches meanwhile.
    """

    def __init__(self) -> None:
        self.longest = max(round(workload.device_ms) for workload in WORKLOADS.values())
        self.gaps_us: list[float] = []
        self.shares: list[float] = []

    def look(self) -> None:
        """Once before each round, since it changes within minutes."""
        self.gaps_us.append(bare_gap_us(self.longest))
        share = lost_pages(self.longest, SLOW_US)
        if share is not None:
            self.shares.append(share)

    def told(self) -> dict[str, str]:
        """In words, for the head of a report."""
        found = {}
        if self.gaps_us:
            gaps = " ".join(f"{gap:.0f}" for gap in self.gaps_us)
            found[f"gap_true of {self.longest} ms calls in a bare loop before each round"] = f"{gaps} us"
        if self.shares:
            shares = " ".join(f"{share:.2f}" for share in self.shares)
            found[f"of pages left alone for {self.longest} ms"] = (
                f"{shares} % take over {SLOW_US} us to touch"
            )
        return found


if __name__ == "__main__":
    main()
