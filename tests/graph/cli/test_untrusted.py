"""Whatever a file holds, a check of it ends with a verdict: no traceback, no hang, no broken document."""

import json
import os
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
    assert 0.3 < sum(judged) / len(judged) < 0.99


def lanes_on_one_state(count, names="n{}"):
    """Every node writes one persistent buffer from a lane of its own: each pair of them is a fault."""
    nodes = [names.format(index) for index in range(count)]
    lines = ["types: {State: value}", "buffers: {state: {type: State, persistent: true}}", "nodes:"]
    lines += [f"  {node}: {{kind: bind, writes: [state]}}" for node in nodes]
    return "\n".join([*lines, "lanes:", *(f"  on_{index}: [{node}]" for index, node in enumerate(nodes))])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (lanes_on_one_state(257), "LF001"),
        (lanes_on_one_state(1).replace("[state]", f"[{', '.join(['state'] * 1025)}]"), "LF001"),
        (f"summary: {'x' * 1001}\n{lanes_on_one_state(1)}", "LF001"),
        (f"extends: sync\ntypes: {{{'T' * 65}: value}}\n", "LF002"),
        (f"extends: {'x' * 300}\n", "LF004"),
        (f"extends: {'../' * 300}x\n", "LF004"),
        (f"fallback: {'x' * 300}\n{lanes_on_one_state(1)}", "LF004"),
    ],
    ids=["nodes", "uses", "text", "name", "long extends", "far extends", "long fallback"],
)
def test_what_is_beyond_a_limit_is_refused(folder, text, code):
    path = folder / "large.yaml"
    path.write_text(text)
    assert [diagnostic.code for diagnostic in verdict(path).diagnostics] == [code]


def test_extending_stops_somewhere(folder):
    for index in range(2000):
        (folder / f"link{index}.yaml").write_text(f"abstract: true\nextends: link{index + 1}\n")
    (fault,) = verdict(folder / "link0.yaml").diagnostics
    assert (fault.code, fault.location.file) == ("LF004", "link32.yaml")


@pytest.mark.parametrize("count", [30, 100])
def test_thousands_of_faults_are_told_in_the_end(folder, count):
    path = folder / "large.yaml"
    path.write_text(lanes_on_one_state(count))
    assert len(verdict(path).diagnostics) == count * (count - 1) // 2


def test_thousands_of_unknown_names_are_told_in_the_end(folder):
    nodes = "".join(f"  {'ab' * 20}{index}: {{kind: bind}}\n" for index in range(100))
    edges = "".join(f"  {'ba' * 20}{index} -> {'ab' * 20}0: {{}}\n" for index in range(500))
    path = folder / "large.yaml"
    path.write_text(f"nodes:\n{nodes}edges:\n{edges}lanes: {{}}\n")
    assert len(verdict(path).diagnostics) == 500


RING = "topology: ring\nextends: sync\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("costs: {prepare: true}", "LF002"),
        ("lanes: {output: ['reclaim@\u0661']}", "LF002"),
        ("edges: {'reclaim@\u0661 -> bind': {}}", "LF002"),
        ("nodes: {bind: {reads: ['outputs@\u0661']}}", "LF002"),
        ("types: {T: {x: 'int64[\u0661]'}}", "LF005"),
        ("lanes: !!set {output: [reclaim]}", "LF001"),
        ("lanes: {output: !!python/object/apply:os.system [reclaim]}", "LF001"),
        ("lanes: {output: !mine [reclaim]}", "LF001"),
    ],
)
def test_what_only_looks_right_is_refused(folder, line, code):
    path = folder / "ring.yaml"
    path.write_text(f"{RING}{line}\n", encoding="utf-8")
    found = verdict(path).diagnostics
    assert {one.code for one in found} == {code}
    assert {one.location.line for one in found} == {3}


def test_the_tags_that_say_what_the_text_is_anyway_are_fine(folder):
    path = folder / "ring.yaml"
    path.write_text(f"{RING}dims: !!map {{batch: 3}}\nrequires: !!seq []\n")
    assert not verdict(path).faulty


def test_a_nul_is_refused_at_its_place(folder):
    path = folder / "ring.yaml"
    path.write_bytes(b'topology: ring\nsummary: "a\0b"\n')
    (fault,) = verdict(path).diagnostics
    assert (fault.code, fault.message) == ("LF001", "not YAML: character U+0000")
    assert fault.location[1:] == (2, 12)


def test_a_key_that_turns_the_text_around_is_shown_escaped(folder):
    path = folder / "ring.yaml"
    path.write_text(f'{RING}costs: {{"a\u202eb": -3}}\n', encoding="utf-8")
    shown = text.render([verdict(path)], Sources().lines)
    assert "\u202e" not in shown
    assert "`costs.a\\u202eb`" in shown


@pytest.mark.parametrize("target", ["pipe.yaml", "."])
def test_a_pipe_is_refused_and_not_waited_for(laneflow, target, tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    called = laneflow("validate", target)
    assert called.code == (2 if target == "pipe.yaml" else 1)
    assert "not a regular file" in called.err
