"""Every mend that is offered validates, and mend after mend leads to a sound file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from graph.diagnostics import Diagnostic, TopologyError
from graph.edits import edited
from graph.explain import MOST_EXPLAINED, explained
from graph.mend import mended, mends
from graph.reading import load, load_text
from graph.topology import Topology
from graph.validate import diagnose, faults
from tests.graph.headers import CASES
from tests.graph.mutations import faulty

UNDECIDED = {
    "LF101": ("LF2", "LF3", "LF4"),
    "LF102": ("LF2", "LF3", "LF4"),
    "LF302": ("LF2", "LF3", "LF4"),
    "LF301": ("LF2", "LF3", "LF4"),
    "LF201": ("LF204", "LF205", "LF206", "LF208"),
}
"""What may come to light when a fault that hid it is gone, by the first letters of its code."""


def readable(path: Path) -> Topology | None:
    try:
        return load(path)
    except TopologyError:
        return None


FAULTY = [path for path in sorted(CASES.glob("*.fault.yaml")) if (found := readable(path)) and faults(found)]
NO_MEND = {"dimension_without_size.fault"}
"""A size is not for the validator to guess."""


def identity(one: Diagnostic) -> tuple[object, ...]:
    told_apart = one.message if one.code < "LF100" else ""
    return one.code, frozenset(one.nodes), one.buffer, one.route, told_apart


def identities(found: Iterable[Diagnostic]) -> Counter[tuple[object, ...]]:
    return Counter(identity(one) for one in found if one.severity != "advice")


def check_offer(topology: Topology, found: list[Diagnostic], offers: list[object]) -> int:
    """Apply each mend by itself: its fault is gone and nothing new is there; how many faults have none."""
    before = identities(found)
    for fault, mend in zip(found, offers, strict=True):
        if mend is None:
            continue
        left = faults(edited(topology, mend.edits))  # type: ignore[attr-defined]
        after = identities(left)
        assert after[identity(fault)] < before[identity(fault)], (fault, mend)
        for one in left:
            if after[identity(one)] > before[identity(one)]:
                revealed = UNDECIDED.get(fault.code, ("LF105",)) if fault.code > "LF100" else ("LF",)
                assert one.code.startswith((*revealed, "LF105")), (fault, mend, one)
    return sum(mend is None for mend in offers)


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_every_fault_of_a_case_has_a_mend_that_validates(path: Path) -> None:
    topology = load(path)
    found = faults(topology)
    assert check_offer(topology, found, mends(topology, found)) == (path.stem in NO_MEND)


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_mend_after_mend_makes_a_case_sound(path: Path) -> None:
    fixed, steps = mended(load(path))
    if path.stem not in NO_MEND:
        assert faults(fixed) == []
        assert steps


@pytest.mark.parametrize("seed", range(10, 14))
def test_the_mends_of_random_faults_validate(seed: int) -> None:
    without = 0
    for topology in faulty(seed, 40):
        found = faults(topology)
        without += check_offer(topology, found, mends(topology, found))
    assert without <= 2


@pytest.mark.parametrize("seed", range(20, 24))
def test_mend_after_mend_makes_random_faults_sound(seed: int) -> None:
    left = [one for topology in faulty(seed, 40) for one in faults(mended(topology)[0])]
    assert len(left) <= 2, left


def test_a_sound_topology_needs_no_mend() -> None:
    topology = load(CASES / "two_staging_slots.sound.yaml")
    assert mends(topology, diagnose(topology)) == [None for _ in diagnose(topology)]
    assert mended(topology) == (topology, ())


HELP = {
    "lagged_reclaim_one_slot": "give `inputs` 2 slots",
    "request_map_rewritten": "add `forward@1 -> schedule`",
    "early_release_under_reclaim": "move `free_inputs` to lane `output`, behind `reclaim`",
    "drafts_released_too_soon": "write `release@1` instead of `release` on lane `output`",
    "misspelt_buffer": "write `inputs` instead of `imputs` in `nodes.dispatch.reads`",
    "edge_to_renamed_node": "write `collect` instead of `reclaim` in `edges.reclaim -> release`",
    "graph_without_token": "write `reclaim@1 -> prepare` instead of `reclaim -> prepare`",
    "in_flight_one_under_lag": "write `in_flight: 2`",
    "retire_on_two_lanes": "keep `retire` on lane `device` alone",
    "cancelled_step_keeps_slot": "add `free_inputs` to route `cancelled`",
    "rows_without_generation": "let `dispatch` read `inputs.generation`",
    "release_inside_reclaim": (
        "let `release` release `outputs` instead of `reclaim` and let `reclaim -> release` carry `outputs`"
    ),
}


@pytest.mark.parametrize(("case", "help_"), HELP.items(), ids=HELP)
def test_the_help_says_the_smallest_change(case: str, help_: str) -> None:
    topology = load(CASES / f"{case}.fault.yaml")
    assert explained(topology, diagnose(topology))[0].help == help_


def test_a_read_is_kept_where_another_node_can_make_it() -> None:
    topology = load(CASES / "late_token_read_at_prepare.fault.yaml")
    fixed, _ = mended(topology)
    assert "outputs.token@1" in [str(use) for use in fixed.nodes["bind"].reads]


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_no_case_is_mended_by_giving_up_the_pipeline(path: Path) -> None:
    fixed, _ = mended(load(path))
    assert fixed.in_flight != 1


def test_mends_do_not_depend_on_chance() -> None:
    topology = load(CASES / "engine_with_grammar.fault.yaml")
    found = faults(topology)
    assert mends(topology, found) == mends(topology, found)


def crowd(count: int) -> Topology:
    """Nodes that all write one buffer, each on a lane of its own: every pair is at fault."""
    nodes = "".join(f"  n{i}: {{kind: bind, writes: [state]}}\n" for i in range(count))
    lanes = "".join(f"  l{i}: [n{i}]\n" for i in range(count))
    return load_text(
        "types: {S: {x: 'int64[8]'}}\nbuffers: {state: {type: S, persistent: true}}\n"
        f"nodes:\n{nodes}edges: {{}}\nlanes:\n{lanes}"
    )


def test_the_search_ends_where_faults_are_many() -> None:
    topology = crowd(60)
    found = diagnose(topology)
    assert len(found) == 60 * 59 // 2
    told = explained(topology, found)
    assert all(one.schedule for one in told[:MOST_EXPLAINED])
    assert told[MOST_EXPLAINED:] == found[MOST_EXPLAINED:]


def test_a_name_that_is_gone_is_not_renamed_and_each_help_speaks_of_its_place() -> None:
    text = "topology: gone\nextends: pingpong\nnodes: {dispatch: null}\n"
    topology = load_text(text)
    told = [one for one in explained(topology, diagnose(topology)) if one.code == "LF003"]
    helps = {one.path: one.help for one in told}
    assert not any("instead of `dispatch`" in one for one in helps.values())
    assert helps["routes", "decode"] == "take `dispatch` out of route `decode`"
    assert helps["lanes", "device", "nodes"] == "take `dispatch` off lane `device`"
    assert helps["costs", "dispatch"] == "remove `dispatch` from `costs`"
    assert helps["edges", "bind -> dispatch"].startswith("declared: ")
