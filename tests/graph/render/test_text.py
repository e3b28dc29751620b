from dataclasses import replace

import pytest

from graph.diagnostics import Diagnostic, Location
from graph.render.outcome import Outcome
from graph.render.text import render, summary
from tests.graph.render.samples import ADVICE, ALL, CRASHED, FAULTY, RACE, SOUND, UNREADABLE, WARNING

LINES = {"topologies/ring.yaml": ["nodes:", "  a: b", "  reclaim: {kind: reclaim}"]}


def text(*outcomes, colour=False):
    return render(outcomes, lambda file: LINES.get(file, ()), colour)


def plain(location, message="something"):
    return Outcome(location.file, (Diagnostic(location, "LF003", message),))


def test_soundness_has_nothing_to_show():
    assert text(SOUND) == ""


def test_a_diagnostic_opens_with_place_code_and_message():
    first = text(FAULTY).split("\n")[0]
    assert first == f"topologies/ring.yaml:3:5: LF205 {RACE.message}"


def test_the_caret_stands_under_the_column():
    _, source, caret, *_ = text(FAULTY).split("\n")
    assert source == "    3 |   reclaim: {kind: reclaim}"
    assert source[caret.index("^") :] == "claim: {kind: reclaim}"


@pytest.mark.parametrize(("line", "column"), [("\t\tname: x", 3), ("漢字: name", 5), ("e\u0301: name", 5)])
def test_the_caret_allows_for_tabs_and_wide_characters(line, column):
    _, source, caret = render([plain(Location("f", 1, column))], lambda file: [line]).split("\n")
    widths = {"漢": 2, "字": 2, "\u0301": 0}
    before = source[: source.index("name")]
    assert caret.index("^") == sum(widths.get(character, 1) for character in before)


def test_a_long_line_is_cut_around_the_column():
    _, source, caret = render(
        [plain(Location("f", 1, 5001))], lambda file: ["x" * 5000 + "!" + "y" * 5000]
    ).split("\n")
    assert len(source) < 200
    assert source[caret.index("^")] == "!"


def test_a_place_beyond_the_file_has_no_excerpt():
    assert (
        text(plain(Location("topologies/ring.yaml", 99, 1))) == "topologies/ring.yaml:99:1: LF003 something"
    )


def test_the_schedule_is_drawn_between_source_and_help():
    rows = text(Outcome("f", (RACE,))).split("\n")
    assert [row.split()[0] for row in rows[3:6]] == ["host", "device", "output"]
    assert rows[-1] == "  help: add `reclaim -> release`"


def test_every_line_of_help_is_marked():
    assert text(UNREADABLE).split("\n")[-2:] == ["  help: first", "  help: second"]


def test_lesser_severities_are_named():
    assert "LF303 warning: `in_flight`" in text(FAULTY)
    assert "LF601 advice: 2 slots" in text(FAULTY)


def test_a_fault_of_a_shared_base_is_shown_once():
    assert text(FAULTY, replace(FAULTY, file="other.yaml")) == text(FAULTY)


def test_no_file_can_drive_the_terminal():
    shown = text(*ALL) + summary(ALL)
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert "\\x1b[31m<&>\"'\\x00\\ud800" in shown


def test_colour_changes_no_character():
    import re

    coloured = text(*ALL, colour=True)
    assert "\x1b[31mLF205\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text(*ALL)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (SOUND, "topologies/sync.yaml: sound"),
        (FAULTY, "topologies/ring.yaml: 1 fault, 1 warning, 1 hint"),
        (Outcome("f", (WARNING,)), "f: sound, 1 warning"),
        (Outcome("f", (WARNING, WARNING), strict=True), "f: 2 warnings"),
        (Outcome("f", (ADVICE,), strict=True), "f: sound, 1 hint"),
        (Outcome("f", partial=True), "f: sound by the chosen codes"),
        (Outcome("f", note="runs `sync` instead"), "f: sound; runs `sync` instead"),
        (CRASHED, "topologies/odd.yaml: undecided"),
    ],
)
def test_the_verdict_says_what_was_found(outcome, verdict):
    assert summary([outcome]) == verdict


def test_several_topologies_are_counted():
    assert summary([SOUND, FAULTY, CRASHED]).split("\n")[-1] == "3 topologies, 2 faulty"
    assert summary([SOUND, SOUND]).split("\n")[-1] == "2 topologies, none faulty"
