import json

import pytest

from tests.graph.cli import topologies as files

COSTS = files.SOUND + "costs: {prepare: 2.5, dispatch: 10}\n"


def compared(laneflow, *words):
    called = laneflow("diff", *words, "--json")
    assert called.code == 0, called.err
    return json.loads(called.out)


def test_what_differs_and_what_it_does(laneflow, write):
    write("one.yaml", COSTS)
    write("two.yaml", COSTS.replace("slots: 2", "slots: 1"))
    called = laneflow("diff", "one.yaml", "two.yaml")
    assert (called.code, called.err) == (0, "")
    assert called.out.splitlines() == [
        "one (default) -> two (default)",
        "  ~ buffers.inputs.slots: 2 -> 1",
        "",
        "period  10 ms -> 12.5 ms (+25.0%)",
        "        set by device lane is full: dispatch -> 1 slot of `inputs`: prepare + dispatch",
        "memory  host 128 B -> 64 B",
        "order   a < b(+j): a of step k is through before b of step k+j starts",
        "  + release < prepare(+2 -> +1)",
        "    and 1 more stronger; --json has all",
        "waits   between lanes: 1 stay, 1 go, 1 come",
        "  - release < prepare(+2): 2 slots of `inputs`",
        "  + release < prepare(+1): 1 slot of `inputs`",
    ]


def test_json(laneflow, write):
    write("one.yaml", COSTS)
    found = compared(laneflow, "one.yaml", "-b", "buffers.inputs.slots=1")
    assert found["changes"] == [{"path": ["buffers", "inputs", "slots"], "first": 2, "second": 1}]
    assert (found["first"]["period_ms"], found["second"]["period_ms"]) == (10.0, 12.5)
    assert (found["first"]["memory_bytes"], found["second"]["memory_bytes"]) == ({"host": 128}, {"host": 64})
    assert found["order"][0] == {
        "before": "release",
        "after": "prepare",
        "first": 2,
        "second": 1,
        "implied": False,
    }
    assert len(found["order"]) == 2
    assert found["waits"]["added"] == [
        {"before": "release", "after": "prepare", "n": 1, "why": "1 slot of `inputs`"}
    ]


def test_the_same_topology_twice(laneflow):
    called = laneflow("diff", "pingpong", "pingpong", "--exit-code")
    assert called.code == 0
    assert "  nothing differs\n" in called.out
    assert "period  45 ms in both\n" in called.out
    assert "the nodes of both are ordered alike\n" in called.out


def test_differences_are_no_error_unless_asked_for(laneflow):
    assert laneflow("diff", "pingpong", "deep").code == 0
    assert laneflow("diff", "pingpong", "deep", "--exit-code").code == 1


def test_shipped_variants(laneflow):
    found = compared(laneflow, "pingpong", "latebind")
    names = [".".join(change["path"]) for change in found["changes"]]
    assert "edges.reclaim@1 -> bind" in names
    assert "requires" in names
    assert (found["first"]["period_ms"], found["second"]["period_ms"]) == (45.0, 47.0)
    assert found["second"]["limit"]["text"] == "edge `reclaim@1 -> bind`: dispatch + reclaim"
    assert all(one["second"] <= one["first"] for one in found["order"])


def test_an_override_among_the_words_holds_for_both(laneflow):
    found = compared(laneflow, "pingpong", "sync", "costs.dispatch=100")
    assert (found["first"]["period_ms"], found["second"]["period_ms"]) == (100.0, 106.4)
    assert not any(change["path"][0] == "costs" for change in found["changes"])


def test_an_override_of_one_side_holds_for_that_side(laneflow):
    found = compared(laneflow, "pingpong", "-a", "costs.dispatch=100", "-b", "costs.dispatch=90")
    assert found["changes"] == [{"path": ["costs", "dispatch"], "first": 100.0, "second": 90.0}]


def test_a_route_for_both(laneflow):
    found = compared(laneflow, "pingpong", "deep", "--route", "prefill", "costs.prefill=30")
    assert [found[side]["route"] for side in ("first", "second")] == ["prefill", "prefill"]
    assert found["first"]["period_ms"] == 30.0


def test_a_node_that_holds_a_resource_need_only_be_in_one(laneflow, write):
    write("one.yaml", COSTS)
    write("two.yaml", COSTS.replace("dispatch", "work").replace("kind: work", "kind: dispatch"))
    found = compared(laneflow, "one.yaml", "two.yaml", "--holds", "disk=prepare,dispatch")
    assert (found["first"]["period_ms"], found["second"]["period_ms"]) == (12.5, 10.0)
    assert found["first"]["limit"]["text"] == "the disk: prepare + dispatch"


def test_the_output_is_bounded(laneflow):
    assert len(laneflow("diff", "sync", "deep").out.splitlines()) < 60


def test_an_unsound_one_is_refused_in_the_words_of_validate(laneflow, write):
    write("ring.yaml", files.RACE)
    called, validate = laneflow("diff", "pingpong", "ring.yaml"), laneflow("validate", "ring.yaml")
    assert (called.code, called.out) == (1, "")
    assert called.err.startswith(validate.err.rstrip())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pingpong",), "diff compares two topologies, not 1; or one with -a or -b"),
        (("pingpong", "deep", "sync"), "not 3"),
        (("in_flight=2",), "not none"),
        (("pingpong", "nope"), "`nope`: neither a file nor a shipped topology"),
        (("pingpong", "deep", "--route", "verify"), "`pingpong` has no route `verify`"),
    ],
)
def test_wrong_usage_is_one_line(laneflow, words, told):
    called = laneflow("diff", *words)
    assert (called.code, called.out) == (2, "")
    assert told in called.err
    assert called.err.count("\n") == 1
