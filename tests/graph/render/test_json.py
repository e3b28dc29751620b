import json

from graph.render.json import render
from tests.graph.render.samples import ALL, FAULTY, SOUND


def test_soundness_is_an_empty_array():
    assert json.loads(render([SOUND])) == []


def test_a_diagnostic_has_exactly_the_fixed_fields():
    race = json.loads(render([FAULTY]))[0]
    assert race == {
        "file": "topologies/ring.yaml",
        "line": 3,
        "column": 5,
        "code": "LF205",
        "severity": "error",
        "message": "`reclaim` of step 0 still reads `inputs` slot 0 when `prepare` of step 2 takes it",
        "help": "add `reclaim -> release`",
        "nodes": ["reclaim", "prepare", "release"],
        "buffer": "inputs",
        "route": "default",
        "schedule": [
            {"node": "prepare", "step": 0, "lane": "host", "start": 0, "end": 1},
            {"node": "dispatch", "step": 0, "lane": "device", "start": 1, "end": 2},
            {"node": "reclaim", "step": 0, "lane": "output", "start": 2, "end": 5},
            {"node": "release", "step": 0, "lane": "device", "start": 2, "end": 3},
            {"node": "prepare", "step": 2, "lane": "host", "start": 3, "end": 4},
        ],
    }


def test_many_topologies_are_one_array():
    assert [found["code"] for found in json.loads(render(ALL))] == ["LF205", "LF303", "LF601", "LF003"]


def test_a_fault_of_a_shared_base_is_listed_once():
    assert len(json.loads(render([FAULTY, FAULTY]))) == 3


def test_any_text_survives():
    assert render(ALL).isascii()
    assert (
        json.loads(render(ALL))[-1]["message"]
        == "100% of\r\n`\x1b[31m<&>\"'\x00\ud800` is nothing, ::error::"
    )
