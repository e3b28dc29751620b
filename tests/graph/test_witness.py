"""Every schedule meets every wait of the file and shows the clash, as a checker of its own sees it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from graph.diagnostics import Clash, Diagnostic, Firing, Moment, TopologyError
from graph.edits import plain
from graph.order import marked_graph
from graph.reading import load, load_text
from graph.topology import Topology
from graph.validate import diagnose
from graph.witness import schedule, schedules, unordered
from tests.graph.headers import CASES
from tests.graph.mutations import faulty
from tests.graph.schedule_checker import Raw, read, shown, unmet

SHOWN = ("LF204", "LF205", "LF206", "LF207", "LF301", "LF401")


def with_schedules(topology: Topology) -> list[Diagnostic]:
    found = [one for one in diagnose(topology) if one.code in SHOWN]
    return [replace(one, schedule=made) for one, made in zip(found, schedules(topology, found), strict=True)]


def faulty_cases() -> list[Path]:
    def has_schedule(path: Path) -> bool:
        try:
            return any(one.code in SHOWN for one in diagnose(load(path)))
        except TopologyError:
            return False

    return [path for path in sorted(CASES.glob("*.fault.yaml")) if has_schedule(path)]


def judged(raw: Raw, diagnostic: Diagnostic) -> None:
    assert unmet(raw, diagnostic.schedule, strict=diagnostic.code != "LF301") == ""
    assert shown(raw, diagnostic), diagnostic


@pytest.mark.parametrize("path", faulty_cases(), ids=lambda path: path.stem)
def test_the_schedule_of_a_case_is_possible_and_shows_the_fault(path: Path) -> None:
    for diagnostic in with_schedules(load(path)):
        assert diagnostic.schedule
        judged(read(path), diagnostic)


@pytest.mark.parametrize("seed", range(4))
def test_the_schedules_of_random_faults_are_possible_and_show_them(seed: int, tmp_path: Path) -> None:
    judged_codes: set[str] = set()
    for topology in faulty(seed, 120):
        path = tmp_path / "random.yaml"
        path.write_text(yaml.safe_dump(plain(topology), sort_keys=False))
        for diagnostic in with_schedules(topology):
            judged(read(path), diagnostic)
            judged_codes.add(diagnostic.code)
    assert len(judged_codes) >= 4


def test_the_late_firing_lasts_until_the_slot_is_taken_again() -> None:
    (found,) = with_schedules(load(CASES / "early_release_under_reclaim.fault.yaml"))
    by_name = {(one.node, one.step): one for one in found.schedule}
    assert by_name["free_inputs", 0].end <= by_name["prepare", 2].start < by_name["reclaim", 0].end


def test_a_deadlock_shows_how_far_the_steps_get() -> None:
    (found,) = with_schedules(load(CASES / "lagged_reclaim_one_slot.fault.yaml"))
    assert [(one.node, one.step) for one in found.schedule] == [("prepare", 0), ("dispatch", 0)]


def test_steps_take_the_routes_in_which_the_fault_shows() -> None:
    (found,) = with_schedules(load(CASES / "race_between_two_routes.fault.yaml"))
    assert {(one.node, one.step) for one in found.schedule} == {
        ("prepare", 0),
        ("prepare", 1),
        ("prefill", 0),
        ("decode", 1),
    }


def test_a_fault_without_a_schedule_has_none() -> None:
    topology = load(CASES / "slot_never_released.fault.yaml")
    assert [schedule(topology, one) for one in diagnose(topology)] == [()]


def test_a_node_that_outlives_its_own_next_tenure_is_shown() -> None:
    """`dispatch` of step 1 uses the slot of step 0 and takes it again: there used to be no end to it."""
    topology = load_text(
        "types: {T: {x: 'int64[4]'}}\nbuffers: {outputs: {type: T}}\nnodes:\n"
        "  dispatch: {kind: dispatch, acquires: [outputs], reads: [outputs@1], writes: [outputs]}\n"
        "  release: {kind: release, releases: [outputs]}\n"
        "edges: {dispatch -> release: {carries: [outputs]}}\n"
        "lanes: {device: [dispatch], output: [release]}\n"
    )
    (found,) = with_schedules(topology)
    assert found.code == "LF205"
    assert [(one.node, one.step) for one in found.schedule] == [
        ("dispatch", 0),
        ("release", 0),
        ("dispatch", 1),
    ]


def test_a_graph_without_one_of_its_waits_shows_what_that_is_for() -> None:
    """`release` gives back the slot of step 0, which `prepare` of step 2 has without waiting for it."""
    topology = load("pingpong")
    graph = marked_graph(topology)
    arcs = tuple(arc for arc in graph.arcs if arc.reason != "slot")
    first, second = Moment("release", 0, "decode"), Moment("prepare", 2, "decode")
    found = unordered(topology, replace(graph, arcs=arcs), Clash(first, second))
    by_name = {(one.node, one.step): one for one in found}
    taken, given = by_name["prepare", 2], by_name["release", 0]
    assert given.start <= taken.start
    assert taken.end < given.end
    for arc in arcs:
        for one in found:
            waits_for = by_name.get((arc.source, one.step - arc.tokens))
            if one.node == arc.target and waits_for is not None:
                assert waits_for.end <= one.start, arc


@pytest.mark.parametrize("shift", ["earlier", "gone", "other lane"])
def test_the_checker_refuses_a_wrong_schedule(shift: str) -> None:
    path = CASES / "early_release_under_reclaim.fault.yaml"
    (found,) = with_schedules(load(path))
    firings = list(found.schedule)
    place = next(index for index, one in enumerate(firings) if one.node == "dispatch")
    wrong = {
        "earlier": [replace(firings[place], start=0, end=1)],
        "gone": [],
        "other lane": [replace(firings[place], lane="output")],
    }[shift]
    changed: list[Firing] = [*firings[:place], *wrong, *firings[place + 1 :]]
    assert unmet(read(path), changed) != ""
