"""The validator's verdict is that of an exhaustive walk: nothing missed, no false alarm."""

from __future__ import annotations

from collections import Counter

import pytest

from graph.topology import Topology
from graph.validate import diagnose
from tests.graph.exhaustive.faults import Fault, walked
from tests.graph.exhaustive.generator import random_topology

PAIRS = ("LF206", "LF207", "LF401")
USERS = ("LF204", "LF205", "LF208")
COMPARED = ("LF201", *USERS, *PAIRS, "LF301", "LF302", "LF303")


def verdict(topology: Topology) -> frozenset[Fault]:
    """The diagnostics as the walk tells them, each exactly once."""
    found: list[Fault] = []
    for one in diagnose(topology):
        if one.code in PAIRS:
            found.append((one.code, one.buffer, frozenset(one.nodes)))
        elif one.code == "LF301":
            found.append((one.code, None, frozenset(one.nodes)))
        elif one.code == "LF302":
            found.append((one.code, one.buffer, one.nodes))
        elif one.code in COMPARED:
            found.append((one.code, one.buffer, one.nodes[:1] if one.code in USERS else ()))
    assert len(found) == len(set(found)), "one fault told twice"
    stuck = any(code in ("LF301", "LF302") for code, _, _ in found)
    return frozenset(fault for fault in found if not (stuck and fault[0] == "LF208"))


def agree(first: int, count: int) -> Counter[str]:
    """Compare the verdicts on `count` random topologies; how many of them had which code."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + count):
        topology = random_topology(seed)
        walk = walked(topology)
        found = verdict(topology)
        assert found == walk.faults, f"seed {seed}: {sorted(map(str, found ^ walk.faults))}"
        untimely = {buffer for code, buffer, _ in found if code in ("LF204", "LF205")}
        assert walk.overwritten <= untimely, f"seed {seed}: a slot had two tenants"
        seen.update({code for code, _, _ in found} or {"sound"})
    print(f"seeds {first} to {first + count - 1}: {dict(sorted(seen.items()))}")
    return seen


def test_validator_and_walk_agree_on_random_topologies() -> None:
    seen = agree(first=1, count=300)
    assert min(seen[code] for code in (*COMPARED, "sound")) > 0, "the sample has something of everything"


@pytest.mark.slow
def test_validator_and_walk_agree_on_five_thousand_topologies() -> None:
    agree(first=100_000, count=5_000)
