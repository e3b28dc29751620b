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
        **({} if args.quick else _floor()),
    }
    found = run(workloads, args.peers, rounds, steps, lambda line: print(line, file=sys.stderr, flush=True))
    shown = blocks(found, workloads, load(str(TOPOLOGY)))
    args.out.mkdir(parents=True, exist_ok=True)
    told = (found, shown, {**before, "load at the end": machine()["load"]}, rounds)
    for name, text in (("peers.md", markdown(*told)), ("peers.json", as_json(*told))):
        (args.out / name).write_text(text, encoding="utf-8")
    print(screen(*told))


def _floor() -> dict[str, str]:
    """How late a thread is that has waited as long as the longest device: no way to overlap can be better than that.

    The host of a virtual machine may take away memory that nobody touches meanwhile.
    """
    longest = max(round(workload.device_ms) for workload in WORKLOADS.values())
    found = {f"gap_true of {longest} ms calls in a bare loop": f"{bare_gap_us(longest):.0f} us"}
    share = lost_pages(longest, SLOW_US)
    if share is not None:
        found[f"of pages left alone for {longest} ms"] = f"{share:.2f} % take over {SLOW_US} us to touch"
    return found


if __name__ == "__main__":
    main()
