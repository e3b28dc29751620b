"""Every peer on every workload, a fresh process each, in interleaved rounds, so that a disturbance of the machine
falls on all alike."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.figures import Figures, figures
from benchmarks.install import reasons
from benchmarks.workloads import Workload

SLOTS = 2
LIMIT_S = 180
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "RAY_CGRAPH_get_timeout": "120"}
ROOT = Path(__file__).parents[1]


def all_peers() -> dict[str, str]:
    """The title of each peer by the name of its module."""
    return {name: _title(name) for _, name, _ in pkgutil.iter_modules(peers.__path__)}


def _title(peer: str) -> str:
    """The first line of the file, which must not be imported for it: its library may be missing."""
    return Path(peers.__path__[0], f"{peer}.py").read_text(encoding="utf-8").split("\n", 1)[0].strip('"')


@dataclass
class Results:
    """What came of it."""

    size: int = 0
    """Of the matrices of the product."""
    runs: dict[tuple[str, str], dict[int, Figures]] = field(default_factory=dict)
    """By workload and peer, the figures of each round."""
    raw: list[dict[str, Any]] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)
    """Peers that cannot run here, and why."""
    failed: list[str] = field(default_factory=list)
    """Runs that broke off or did not keep to the contract, in words; they have no figures."""


def run(
    workloads: Sequence[Workload],
    names: Sequence[str],
    rounds: int,
    steps: Callable[[Workload], int],
    say: Callable[[str], None],
    before_round: Callable[[], None] = lambda: None,
) -> Results:
    """All rounds; `steps` is how many a workload runs."""
    found = Results()
    if any(workload.product for workload in workloads):
        found.size = int(_fresh())
    for number in range(rounds):
        before_round()
        for workload in workloads:
            say(f"round {number + 1} of {rounds}, {workload.name}")
            for peer in names:
                if peer not in found.unavailable:
                    _once(found, number, workload, peer, steps(workload))
    return found


def _once(found: Results, number: int, workload: Workload, peer: str, steps: int) -> None:
    words = [peer, "--workload", workload.name, "--steps", str(steps), "--size", str(found.size)]
    where = f"{peer} on {workload.name}, round {number + 1}"
    try:
        answer = json.loads(_fresh(*words))
    except subprocess.TimeoutExpired:
        found.failed.append(f"{where}: no end after {LIMIT_S} s")
        return
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        found.failed.append(f"{where}: {lines[-1]}")
        return
    if "unavailable" in answer:
        found.unavailable[peer] = reasons().get(peer, answer["unavailable"])
        return
    found.raw.append({"peer": peer, "workload": workload.name, "round": number, **answer})
    if answer["breaches"]:
        found.failed.extend(f"{where}: {breach}" for breach in answer["breaches"])
    else:
        figured = figures(answer["calls"], SLOTS)
        found.raw[-1]["figures"] = asdict(figured)
        found.runs.setdefault((workload.name, peer), {})[number] = figured


def _fresh(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.one", *words],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env=ENVIRONMENT,
        text=True,
        timeout=LIMIT_S,
    )
    return done.stdout
