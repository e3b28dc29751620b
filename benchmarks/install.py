"""Installs what the peers need, one requirement at a time, so that one which cannot be had keeps none of the others.

Why one could not be installed is kept beside the environment, and the benchmark reports it with the peer.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
NOTE = Path(sys.prefix, "bench-peers.json")
PEERS = {"ray": "ray_compiled_graph", "setuptools": "pypeln"}
"""Which peer needs what has another name than its file."""


def requirements() -> list[str]:
    """Those of the `bench` extra."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    listed: list[str] = project["optional-dependencies"]["bench"]
    return listed


def name_of(requirement: str) -> str:
    """What it requires, without version."""
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0]


def install() -> dict[str, str]:
    """By peer, why what it needs could not be installed."""
    failed = {}
    for requirement in requirements():
        words = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--constraint",
            "constraints.txt",
            requirement,
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            name = name_of(requirement)
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            reason = (lines or [f"pip ended with {done.returncode}"])[-1]
            failed[PEERS.get(name, name)] = re.sub(r"\S+://\S+", "its address", reason)
    return failed


def reasons() -> dict[str, str]:
    """What `install` found; nothing where it was not called."""
    return json.loads(NOTE.read_text(encoding="utf-8")) if NOTE.exists() else {}


if __name__ == "__main__":
    found = install()
    NOTE.write_text(json.dumps(found), encoding="utf-8")
    for peer, reason in found.items():
        print(f"{peer}: {reason}")
