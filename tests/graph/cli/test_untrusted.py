"""Whatever a file holds, a check of it ends with a verdict: no traceback, no hang, no broken document."""

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.cli.checking import Check
from graph.cli.sources import Sources
from graph.render import github, junit, sarif, text
from graph.render import json as as_json
from graph.rules.catalogue import catalogue
from tests.graph.cli.mutations import CASES, mutated


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with what the cases extend."""
    monkeypatch.chdir(tmp_path)
    for case in CASES:
        (tmp_path / case.name).write_bytes(case.read_bytes())
    return tmp_path


def verdict(path):
    """The one outcome of a check, seen to be whole: known codes, real places, and documents that parse."""
    sources = Sources()
    (outcome,) = Check(sources).outcomes(str(path))
    assert not outcome.crash, outcome.crash
    for diagnostic in outcome.diagnostics:
        assert diagnostic.code in catalogue()
        assert diagnostic.message
        assert diagnostic.location.line >= 1
        assert diagnostic.location.column >= 1
    assert len(json.loads(as_json.render([outcome]))) == len(set(outcome.diagnostics))
    ElementTree.fromstring(junit.render([outcome]).encode())
    json.loads(sarif.render([outcome]))
    assert len(github.render([outcome]).splitlines()) == len(set(outcome.diagnostics))
    shown = text.render([outcome], sources.lines)
    assert all(character.isprintable() or character == "\n" for character in shown)
    return outcome


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(300, id="some"),
        pytest.param(3_000, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(1500)]),
    ],
)
def test_mutated_files_are_judged(folder, count):
    judged = []

    @settings(max_examples=count, deadline=None, database=None)
    @given(seed=st.integers(0, 2**32))
    def judge(seed):
        path = folder / "mutated.yaml"
        path.write_bytes(mutated(seed))
        judged.append(verdict(path).faulty)

    judge()
    assert len(judged) >= count
    assert 0.3 < sum(judged) / len(judged) < 0.98
