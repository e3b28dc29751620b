from __future__ import annotations

from graph.diagnostics import Diagnostic, Location
from tests.graph.headers import Expectation, expectations, mismatch

HERE = Location("case.yaml", 1, 1)


def found(code: str, buffer: str | None = None, *nodes: str) -> Diagnostic:
    return Diagnostic(HERE, code, "something", buffer=buffer, nodes=nodes)


def test_header_with_keys_and_without() -> None:
    text = "# expect: LF205 buffer=inputs nodes=a,b\n# expect: LF303\n# why: so\n"
    assert expectations(text) == [Expectation("LF205", "inputs", frozenset("ab")), Expectation("LF303")]


def test_sound_expects_nothing_and_no_header_says_nothing() -> None:
    assert expectations("# expect: sound\n") == []
    assert expectations("topology: base\n") is None


def test_a_diagnostic_may_name_more_nodes_and_keys_left_out_are_not_compared() -> None:
    assert mismatch([Expectation("LF301", None, frozenset("a"))], [found("LF301", "inputs", "b", "a")]) == ""


def test_missed_and_false_are_told() -> None:
    told = mismatch([Expectation("LF205", "inputs")], [found("LF205", "outputs")])
    assert "missed" in told
    assert "false alarm" in told


def test_each_line_matches_one_diagnostic() -> None:
    assert "missed" in mismatch([Expectation("LF207"), Expectation("LF207")], [found("LF207", "state")])


def test_a_general_line_leaves_the_particular_diagnostic_to_the_particular_line() -> None:
    lines = [Expectation("LF207"), Expectation("LF207", "state")]
    assert mismatch(lines, [found("LF207", "state"), found("LF207", "ring")]) == ""


def test_advice_and_binding_do_not_count() -> None:
    assert mismatch([], [found("LF501"), found("LF601")]) == ""
