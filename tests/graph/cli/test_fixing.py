import codecs
import errno
import json
from pathlib import Path

import pytest

from graph import yaml_tree
from graph.files import shipped
from graph.reading import load
from tests.graph.cli import topologies as files

COMMENTED = files.RACE.replace("edges:", "edges:  # who hands on what")


def test_fix_mends_the_file_and_keeps_the_rest(laneflow, write):
    path = write("ring.yaml", COMMENTED)
    called = laneflow("validate", "ring.yaml", "--fix")
    assert (called.code, called.out) == (0, "ring.yaml: sound\n")
    assert called.err.startswith("ring.yaml: fixed: ")
    before, after = COMMENTED.split("lanes:")[0], path.read_text().split("lanes:")[0]
    assert set(before.splitlines()) <= set(after.splitlines())
    assert "edges:  # who hands on what" in path.read_text()
    assert laneflow("validate", "ring.yaml").code == 0


def test_diff_shows_the_change_and_writes_nothing(laneflow, write):
    path = write("ring.yaml", COMMENTED)
    called = laneflow("validate", "ring.yaml", "--diff")
    assert called.code == 1
    assert path.read_text() == COMMENTED
    lines = called.out.splitlines()
    assert any(line.startswith("+++ ") for line in lines)
    changed = [line for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))]
    assert changed
    assert lines[-1] == "ring.yaml: 1 fault"


def test_the_diff_is_what_fix_does(laneflow, write):
    path = write("ring.yaml", COMMENTED)
    shown = laneflow("validate", "ring.yaml", "--diff").out.splitlines()
    laneflow("validate", "ring.yaml", "--fix")
    mended = path.read_text().splitlines()
    added = [line[1:] for line in shown if line.startswith("+") and not line.startswith("+++")]
    assert added
    assert all(line in mended for line in added)


def test_the_diff_of_standard_input(laneflow):
    called = laneflow("validate", "-", "--diff", stdin=files.RACE.encode())
    assert called.code == 1
    assert "\n+" in called.out


def test_line_ends_are_kept(laneflow, write, tmp_path):
    (tmp_path / "ring.yaml").write_bytes(COMMENTED.replace("\n", "\r\n").encode())
    assert laneflow("validate", "ring.yaml", "--fix").code == 0
    data = (tmp_path / "ring.yaml").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")


@pytest.mark.parametrize("text", [files.SOUND, files.NOT_YAML, files.IDLE_LIMIT.partition("in_flight")[0]])
def test_a_file_with_nothing_to_mend_is_not_written(laneflow, write, text):
    path = write("ring.yaml", text)
    before = path.stat().st_mtime_ns
    laneflow("validate", "ring.yaml", "--fix")
    assert path.stat().st_mtime_ns == before


def test_standard_input_cannot_be_fixed(laneflow):
    called = laneflow("validate", "-", "--fix", stdin=files.RACE.encode())
    assert called.code == 1
    assert "standard input cannot be written" in called.err


def test_a_shipped_topology_is_not_written(laneflow):
    before = {path: path.read_bytes() for path in shipped().values()}
    assert "comes with laneflow" in laneflow("validate", "pingpong", "--fix").err
    assert {path: path.read_bytes() for path in shipped().values()} == before


def test_overrides_cannot_be_mended(laneflow, write):
    write("ring.yaml", files.RACE)
    assert laneflow("validate", "ring.yaml", "in_flight=2", "--fix").code == 2


def test_a_machines_document_stays_whole(laneflow, write):
    write("ring.yaml", files.RACE)
    called = laneflow("validate", "ring.yaml", "--diff", "--format", "json")
    assert called.out.startswith("[")
    assert "+++ " in called.err


def refuse(self, target):
    raise PermissionError(errno.EACCES, "Permission denied", str(self))


def test_a_file_that_cannot_be_written_is_told_and_the_rest_goes_on(laneflow, write, monkeypatch):
    write("a.yaml", files.RACE)
    write("b.yaml", files.SOUND)
    monkeypatch.setattr(Path, "replace", refuse)
    called = laneflow("validate", "a.yaml", "b.yaml", "--fix", "--format", "json")
    assert called.code == 1
    assert called.err == "cannot write a.yaml: Permission denied\n"
    assert {one["file"] for one in json.loads(called.out)} == {"a.yaml"}


def test_what_cannot_be_written_fails_even_where_only_warnings_were_to_mend(laneflow, write, monkeypatch):
    write("ring.yaml", files.IDLE_LIMIT)
    assert laneflow("validate", "ring.yaml").code == 0
    monkeypatch.setattr(Path, "replace", refuse)
    called = laneflow("validate", "ring.yaml", "--fix")
    assert "cannot write ring.yaml" in called.err
    assert called.code == 1


def test_a_file_is_the_old_one_or_the_new_one_and_nothing_is_left_beside_it(laneflow, write, monkeypatch):
    """It used to be written in place, and half of it was left where that was cut short."""
    path = write("ring.yaml", COMMENTED)
    monkeypatch.setattr(Path, "replace", refuse)
    laneflow("validate", "ring.yaml", "--fix")
    assert path.read_text() == COMMENTED
    assert [one.name for one in path.parent.iterdir()] == ["ring.yaml"]


def test_what_a_link_stands_for_is_mended_and_keeps_its_mode(laneflow, write):
    path = write("ring.yaml", COMMENTED)
    path.chmod(0o640)
    link = path.with_name("link.yaml")
    link.symlink_to(path)
    assert laneflow("validate", "link.yaml", "--fix").code == 0
    assert link.is_symlink()
    assert path.read_text() != COMMENTED
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_byte_order_mark_is_kept(laneflow, write):
    path = write("ring.yaml", "\ufeff" + COMMENTED)
    assert laneflow("validate", "ring.yaml", "--fix").code == 0
    data = path.read_bytes()
    assert data.startswith(codecs.BOM_UTF8)
    assert data.count(codecs.BOM_UTF8) == 1


def test_fix_takes_away_what_names_a_node_that_is_gone_and_renames_nothing(laneflow, write):
    path = write("gone.yaml", "topology: gone\nextends: pingpong\nnodes: {dispatch: null}\n")
    laneflow("validate", "gone.yaml", "--fix")
    data = yaml_tree.plain(yaml_tree.parse(path.read_text(), "gone.yaml"))
    assert data["costs"] == {"dispatch": None}
    assert data["lanes"] == {"device": {"nodes": ["prefill", "retire"]}}
    assert data["routes"] == {
        route: [node for node in members if node != "dispatch"]
        for route, members in load("pingpong").routes.items()
        if "dispatch" in members
    }
    assert "edges" not in data
