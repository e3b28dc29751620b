import sys
from pathlib import Path

import pytest

from graph.files import shipped
from tests.graph.cli.topologies import BASE, MISSPELT, NOT_YAML, RACE, SOUND

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"


@pytest.mark.parametrize("suffix", ["svg", "png"])
@pytest.mark.parametrize("name", shipped())
def test_the_pictures_in_the_documentation_are_current(laneflow, name, suffix):
    called = laneflow("show", name, "--check", PICTURES / f"{name}.{suffix}")
    assert called.code == 0, called.err


def test_there_is_no_picture_of_what_is_not_shipped():
    assert {path.stem for path in PICTURES.iterdir()} == set(shipped())


def test_without_options_the_drawing_is_for_the_terminal(laneflow):
    called = laneflow("show", "pingpong")
    assert called.code == 0
    assert "│ 1 prepare │" in called.out
    assert called.err == ""
    assert max(map(len, called.out.splitlines())) <= 100


def test_the_terminals_width_is_kept_to(laneflow, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, laneflow("show", "pingpong").out.splitlines())) <= 60


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_no_color_is_respected(laneflow, monkeypatch, no_colour):
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True)
    assert ("\x1b[" in laneflow("show", "pingpong").out) == (not no_colour)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("ring.mmd", b"---\ntitle:"),
        ("ring.dot", b"digraph"),
        ("ring.svg", b"<?xml"),
        ("ring.png", b"\x89PNG"),
        ("ring.html", b"<!doctype html>"),
        ("ring.txt", b"ring"),
    ],
)
def test_the_format_is_that_of_the_suffix_and_a_check_passes_at_once(laneflow, write, tmp_path, name, start):
    write("ring.yaml", SOUND)
    assert laneflow("show", "ring.yaml", "--out", name).code == 0
    assert (tmp_path / name).read_bytes().startswith(start)
    assert laneflow("show", "ring.yaml", "--check", name).code == 0
    stale = laneflow("show", "ring.yaml", "buffers.inputs.slots=3", "--check", name)
    assert stale.code == 1
    assert "stale" in stale.err


def test_format_overrules_the_suffix(laneflow, write, tmp_path):
    write("ring.yaml", SOUND)
    laneflow("show", "ring.yaml", "--format", "dot", "--out", "ring.txt")
    assert (tmp_path / "ring.txt").read_text().startswith("digraph")


@pytest.mark.parametrize("content", [None, b"", b"no picture"])
def test_a_check_fails_on_what_is_no_picture(laneflow, write, tmp_path, content):
    write("ring.yaml", SOUND)
    if content is not None:
        (tmp_path / "ring.png").write_bytes(content)
    assert laneflow("show", "ring.yaml", "--check", "ring.png").code == 1


def test_one_route_has_its_nodes_alone(laneflow):
    called = laneflow("show", "pingpong", "--route", "retire")
    assert "1 retire" not in called.out
    assert "3 retire" in called.out
    assert "prepare_retire" in called.out
    assert "prefill" not in called.out
    unknown = laneflow("show", "pingpong", "--route", "decod")
    assert unknown.code == 2
    assert "did you mean `decode`?" in unknown.err


def test_an_override_is_drawn(laneflow):
    assert "inputs: 5 slots" in laneflow("show", "pingpong", "buffers.inputs.slots=5").out


def test_standard_input_and_abstract_ones_are_drawn(laneflow):
    assert laneflow("show", "-", stdin=SOUND.encode()).code == 0
    called = laneflow("show", "-", stdin=BASE.encode())
    assert called.code == 0
    assert "no lane" in called.out


def test_what_is_only_unsafe_is_drawn_with_its_faults(laneflow, write):
    write("race.yaml", RACE)
    called = laneflow("show", "race.yaml")
    assert called.code == 0
    assert "! LF205" in called.out
    assert "race.yaml" in called.err
    assert "LF205" in called.err


TWICE = SOUND.replace("host: [prepare]", "host: [prepare, release]")


@pytest.mark.parametrize("text", [NOT_YAML, MISSPELT, SOUND.replace("[inputs]}", "[input]}", 1), TWICE])
def test_what_has_no_graph_is_refused_as_validate_refuses_it(laneflow, write, text):
    write("ring.yaml", text)
    shown, validated = laneflow("show", "ring.yaml"), laneflow("validate", "ring.yaml")
    assert shown.code == validated.code == 1
    assert shown.out == ""
    assert shown.err.strip() == f"{validated.err}{validated.out}".strip()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pingpong", "sync"], "one topology, not 2"),
        (["pingpong", "--out", "x.pdf"], "no format has this suffix"),
        (["pingpong", "--format", "png"], "--out FILE"),
        (["pingpong", "--out", "no/folder/x.svg"], "cannot be written"),
        (["pingpon"], "did you mean `pingpong`?"),
    ],
)
def test_wrong_usage(laneflow, words, message):
    called = laneflow("show", *words)
    assert called.code == 2
    assert message in called.err
