"""Each code's page. Its examples are run: the faulty one shows the code, and the mended one nothing."""

import pytest

from graph.bind import fallback_of
from graph.diagnostics import TopologyError
from graph.node import Executor
from graph.reading import load_text
from graph.rules.catalogue import catalogue
from graph.rules.fit import check_fit, missing_capabilities
from graph.validate import diagnose

HUNDREDS = {0: 5, 1: 5, 2: 9, 3: 3, 4: 1, 5: 3, 6: 2}
CODES = [f"LF{family}{number:02}" for family, count in HUNDREDS.items() for number in range(1, count + 1)]
COMPANIONS = {"LF204": {"LF202", "LF206"}}
"""What an example cannot help showing as well."""


def found(text, executor):
    """(code, severity) of everything that is found; bound to the page's executor where it has one."""
    try:
        topology = load_text(text)
        diagnostics = diagnose(topology)
        if executor:
            scope = {}
            exec(executor, scope)
            made = scope["pipeline"]()
            assert isinstance(made, Executor)
            if missing_capabilities(topology, made) and topology.fallback:
                topology = fallback_of(topology)
                made = Executor(dict.fromkeys(topology.nodes, made.nodes["prepare"]), made.capabilities)
            diagnostics += check_fit(topology, made)
    except TopologyError as error:
        diagnostics = list(error.diagnostics)
    return {(diagnostic.code, diagnostic.severity) for diagnostic in diagnostics}


def test_every_code_of_the_language_has_a_page():
    assert list(catalogue()) == CODES


@pytest.mark.parametrize("code", CODES)
def test_the_faulty_example_shows_the_code_and_the_mended_one_nothing(code):
    rule = catalogue()[code]
    faulty = found(rule.faulty, rule.executor)
    assert (code, rule.severity) in faulty
    assert {other for other, _ in faulty} - COMPANIONS.get(code, set()) == {code}
    assert found(rule.mended, rule.executor) == set()


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_meaning_and_both_examples(laneflow, code):
    rule = catalogue()[code]
    called = laneflow("explain", code)
    assert called.code == 0
    assert called.out.startswith(f"{code}  ")
    assert rule.meaning in called.out
    assert len(rule.meaning) > 80
    for block in (rule.faulty, rule.mended):
        assert "\n".join(f"    {line}" for line in block.rstrip().split("\n")) in called.out


def test_without_a_code_all_are_listed(laneflow):
    called = laneflow("explain")
    assert called.code == 0
    assert [line.split()[0] for line in called.out.splitlines()] == CODES
    assert "LF303  warning: " in called.out


def test_case_does_not_matter(laneflow):
    assert laneflow("explain", "lf205").out == laneflow("explain", "LF205").out


@pytest.mark.parametrize("word", ["LF210", "205", "xyzzy"])
def test_an_unknown_code_is_wrong_usage(laneflow, word):
    called = laneflow("explain", word)
    assert (called.code, called.out) == (2, "")
    assert word.upper() in called.err


def test_the_nearest_code_is_proposed(laneflow):
    assert "did you mean LF20" in laneflow("explain", "LF210").err
