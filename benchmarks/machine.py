"""The machine that a measurement was taken on, and how busy it was."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from graph.trace import versions


def machine() -> dict[str, str]:
    """In words, for the head of a report."""
    return {
        "processor": _processor(),
        "processors": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}",
        "system": f"{platform.system()} {platform.release()}",
        **versions(),
        "load": " ".join(f"{one:.2f}" for one in os.getloadavg()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
