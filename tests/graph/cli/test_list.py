import json
from pathlib import Path

from graph.files import shipped
from graph.reading import load


def test_every_shipped_topology_has_a_line_with_its_summary(laneflow):
    called = laneflow("list")
    assert called.code == 0
    lines = {line.split()[0]: line for line in called.out.splitlines()}
    assert list(lines) == sorted(shipped())
    assert {"decode", "sync", "pingpong"} <= set(lines)
    assert all(load(name).summary in line for name, line in lines.items())


def test_abstract_ones_are_marked(laneflow):
    lines = {line.split()[0]: line for line in laneflow("list").out.splitlines()}
    assert {name for name, line in lines.items() if "(abstract)" in line} == {
        name for name in shipped() if load(name).abstract
    }
    assert "(abstract)" in lines["decode"]


def test_as_json(laneflow):
    rows = json.loads(laneflow("list", "--json").out)
    assert [row["name"] for row in rows] == sorted(shipped())
    assert all(set(row) == {"name", "summary", "abstract", "file"} for row in rows)
    assert all(Path(row["file"]).is_file() for row in rows)


def test_every_shipped_topology_has_a_summary():
    assert [name for name in shipped() if not load(name).summary] == []
