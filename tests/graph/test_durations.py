from __future__ import annotations

from fractions import Fraction

from graph.durations import durations_of, exact
from graph.reading import load_text
from tests.graph.rules.build import SOUND, small

COSTS = SOUND + "costs: {prepare: 4.4, dispatch: 45}\n"


def test_the_files_costs_are_taken_as_they_are_written() -> None:
    found = durations_of(load_text(COSTS, "small.yaml"))
    assert found.times == {"prepare": Fraction(22, 5), "dispatch": Fraction(45), "release": Fraction(0)}
    assert found.source == {"prepare": "file", "dispatch": "file"}


def test_a_recorded_duration_takes_the_place_of_the_files() -> None:
    found = durations_of(load_text(COSTS, "small.yaml"), {"dispatch": 40.5, "other": 1.0})
    assert (found.times["dispatch"], found.source["dispatch"]) == (Fraction(81, 2), "trace")
    assert found.source["prepare"] == "file"
    assert "other" not in found.times


def test_an_override_takes_the_place_of_both() -> None:
    found = durations_of(load_text(COSTS, "small.yaml", ["costs.dispatch=20"]), {"dispatch": 40.5})
    assert (found.times["dispatch"], found.source["dispatch"]) == (20, "override")


def test_a_node_that_nothing_is_known_of_takes_no_time_and_has_no_source() -> None:
    found = durations_of(small())
    assert set(found.times.values()) == {0}
    assert found.source == {}


def test_small_and_large_numbers_stay_exact() -> None:
    assert exact(1e-7) == Fraction(1, 10**7)
    assert exact(0.1) + exact(0.2) == Fraction(3, 10)
    assert exact(1e22) == 10**22
