import io
import json
import subprocess
import sys

import pytest

from graph import Runtime, compile, load
from graph.cli import sweeping
from graph.trace_file import write as write_trace
from nodes.simulated import simulated
from tests.graph.cli import topologies as files

COSTS = files.SOUND + "costs: {prepare: 2.5, dispatch: 10}\n"


def planned(laneflow, *words):
    called = laneflow("plan", *words, "--json")
    assert called.code == 0, called.err
    return json.loads(called.out)


def test_the_period_and_what_sets_it(laneflow):
    called = laneflow("plan", "pingpong")
    assert (called.code, called.err) == (0, "")
    assert called.out.startswith(
        "pingpong, route decode: a step every 45 ms\n  set by     device lane is full: dispatch\n"
    )


def test_json_has_the_promised_names(laneflow):
    found = planned(laneflow, "pingpong", "--steps", "2")
    assert found["period_ms"] == 45.0
    assert found["cycle"] == ["dispatch"]
    assert found["slots"] == {"inputs": 2, "outputs": 2, "prompts": 2, "firsts": 2, "retiring": 1}
    assert found["memory_bytes"] == {"pinned": 2776, "device": 352}
    dispatches = [one for one in found["schedule"] if one["node"] == "dispatch"]
    assert dispatches == [
        {"node": "dispatch", "step": 0, "lane": "device", "start": 4.4, "end": 49.4},
        {"node": "dispatch", "step": 1, "lane": "device", "start": 49.4, "end": 94.4},
    ]


def test_overrides_count(laneflow):
    found = planned(laneflow, "pingpong", "buffers.inputs.slots=1", "costs.dispatch=10")
    assert found["period_ms"] == 16.4
    assert found["limit"] == {"kind": "cycle", "text": "1 slot of `inputs`: prepare + dispatch + reclaim"}


def test_nodes_without_a_cost_are_named(laneflow):
    assert planned(laneflow, "pingpong")["costs_missing"] == ["bind", "release"]
    assert "none for bind, release: counted as 0 ms" in laneflow("plan", "pingpong").out


def test_a_topology_without_any_cost_has_no_period(laneflow, write):
    write("ring.yaml", files.SOUND)
    called = laneflow("plan", "ring.yaml")
    assert called.code == 0
    assert called.out.startswith("ring, route default: a step every 0 ms\n  set by     no node takes time\n")


def test_another_route(laneflow):
    found = planned(laneflow, "pingpong", "--route", "prefill", "costs.prefill=30")
    assert (found["route"], found["period_ms"], found["cycle"]) == ("prefill", 30.0, ["prefill"])


def test_slots_that_would_help_are_told(laneflow):
    told = laneflow("plan", "pingpong", "buffers.inputs.slots=1").out
    assert "useful: those slots together would bring 45 ms" in told


def test_what_shares_a_resource_is_told_as_an_assumption_unless_stated(laneflow):
    words = ("plan", "pingpong", "costs={prepare: 30, dispatch: 40, reclaim: 30}")
    assumed, stated = laneflow(*words), laneflow(*words, "--holds", "interpreter=prepare")
    assert "set by     the interpreter lock: prepare + reclaim\n" in assumed.out
    assert "(assumed; --holds interpreter=NODE,... says otherwise)" in assumed.out
    assert "a step every 50 ms" in stated.out
    assert "assumed" not in stated.out


def test_the_costs_of_a_recorded_run(laneflow, tmp_path):
    topology = load("pingpong", ["costs={prepare: 0.2, dispatch: 3, reclaim: 0.1}"])
    with Runtime(compile(topology), simulated(topology, holds_lock=False)) as run:
        assert len(list(run.map(range(8)))) == 8
        spans = run.spans()
    write_trace(tmp_path / "run.json", run.trace())
    found = planned(laneflow, "pingpong", "--costs", tmp_path / "run.json")
    durations = sorted(span.end - span.start for span in spans if span.node == "dispatch")
    middle = (durations[3] + durations[4]) / 2 / 1e6
    assert found["costs_ms"]["dispatch"] == pytest.approx(middle, abs=0.002)
    assert found["costs_missing"] == []
    assert "recorded for prepare, bind" in laneflow("plan", "pingpong", "--costs", tmp_path / "run.json").out


def test_an_override_of_a_cost_wins_over_the_recorded_run(laneflow, tmp_path):
    topology = load("pingpong", ["costs={dispatch: 1}"])
    with Runtime(compile(topology), simulated(topology)) as run:
        list(run.map(range(2)))
    write_trace(tmp_path / "run.json", run.trace())
    found = planned(laneflow, "pingpong", "--costs", tmp_path / "run.json", "costs.dispatch=77")
    assert found["costs_ms"]["dispatch"] == 77.0


def test_a_trace_without_such_steps_is_refused(laneflow, tmp_path):
    topology = load("pingpong", ["costs={dispatch: 1}"])
    with Runtime(compile(topology), simulated(topology)) as run:
        list(run.map(range(2)))
    write_trace(tmp_path / "run.json", run.trace())
    called = laneflow("plan", "pingpong", "--route", "retire", "--costs", tmp_path / "run.json")
    assert called.code == 2
    assert called.err.endswith("run.json: no node of `pingpong` fired on a step of route `retire`\n")


@pytest.mark.parametrize("name", ["missing.json", "ring.yaml"])
def test_what_is_no_trace_is_one_line(laneflow, write, name):
    write("ring.yaml", files.SOUND)
    called = laneflow("plan", "ring.yaml", "--costs", name)
    assert called.code == 2
    assert called.out == ""
    assert called.err.startswith(f"laneflow: {name}: ")
    assert called.err.count("\n") == 1


def test_an_unsound_topology_is_refused_in_the_words_of_validate(laneflow, write):
    write("ring.yaml", files.RACE)
    plan, validate = laneflow("plan", "ring.yaml"), laneflow("validate", "ring.yaml")
    assert (plan.code, plan.out) == (1, "")
    assert plan.err.startswith(validate.err.rstrip())
    assert plan.err.endswith(validate.out)


@pytest.mark.parametrize("text", [files.NOT_YAML, files.MISSPELT, "", "- a\n", COSTS.replace("10", "1e308")])
def test_a_file_that_is_no_topology_is_refused(laneflow, write, text):
    write("ring.yaml", text)
    called = laneflow("plan", "ring.yaml")
    assert (called.code, called.out) == (1, "")
    assert "LF00" in called.err


def test_an_abstract_file_is_refused(laneflow, write):
    write("base.yaml", files.BASE)
    called = laneflow("plan", "base.yaml")
    assert called.code == 1
    assert "base.yaml:1:1: LF002 `base` is abstract" in called.err


def test_a_name_from_the_file_cannot_drive_the_terminal(laneflow, write):
    write("ring.yaml", 'topology: "\\e[31mred"\n' + COSTS)
    for words in (
        ("plan", "ring.yaml"),
        ("plan", "ring.yaml", "--sweep", "in_flight=1"),
        ("diff", *["ring.yaml"] * 2),
    ):
        called = laneflow(*words)
        assert called.code == 0
        assert "\x1b" not in called.out
        assert "\\x1b[31mred" in called.out


def test_a_topology_that_runs_nothing_has_a_plan(laneflow, write):
    write("empty.yaml", "nodes: {}\nlanes: {}\n")
    called = laneflow("plan", "empty.yaml")
    assert (called.code, called.err) == (0, "")
    assert called.out.startswith("empty, route default: a step every 0 ms")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nope",), "`nope`: neither a file nor a shipped topology"),
        (("pingpong", "sync"), "plan takes one topology, not 2"),
        (("costs.dispatch=3",), "plan takes one topology, not none"),
        (("pingpong", "--route", "decod"), "`pingpong` has no route `decod`; did you mean `decode`?"),
        (("pingpong", "--holds", "disk=prepar"), "no node `prepar`; did you mean `prepare`?"),
        (("pingpong", "--holds", "prepare"), "write RESOURCE=NODE,..."),
        (("pingpong", "--steps", "0"), "--steps takes 1 to"),
        (("pingpong", "--sweep", "slots"), "is not PATH=VALUES"),
        (("pingpong", "--sweep", "buffers.zz*.slots=1"), "matches nothing"),
    ],
)
def test_wrong_usage_is_one_line(laneflow, words, told):
    called = laneflow("plan", *words)
    assert (called.code, called.out) == (2, "")
    assert told in called.err
    assert called.err.count("\n") == 1


def test_a_topology_on_standard_input(laneflow):
    called = laneflow("plan", "-", stdin=COSTS.encode())
    assert called.code == 0
    assert "a step every 10 ms" in called.out


def test_a_sweep_is_a_table_of_choices(laneflow):
    called = laneflow("plan", "pingpong", "--sweep", "buffers.*.slots=1..3")
    assert called.code == 0
    _, head, *rows, verdict = called.out.splitlines()
    assert head.split() == ["buffers.*.slots", "period", "memory", "set", "by"]
    assert [row.split()[:3] for row in rows] == [["1", "51.4", "ms"], ["2", "45", "ms"], ["3", "45", "ms"]]
    assert verdict == "shortest period with the least memory: buffers.*.slots=2"


def test_sweeps_are_combined(laneflow):
    words = ("--sweep", "buffers.*.slots=1,2", "--sweep", "costs.dispatch=5,10")
    rows = json.loads(laneflow("plan", "pingpong", *words, "--json").out)["sweep"]
    assert [(*row["settings"].values(), row["period_ms"]) for row in rows] == [
        ("1", "5", 11.4),
        ("1", "10", 16.4),
        ("2", "5", 6.4),
        ("2", "10", 10.0),
    ]
    assert rows[2]["limit"]["text"] == "the interpreter lock: prepare + reclaim"


def test_each_row_of_a_sweep_is_what_the_plan_of_that_choice_says(laneflow):
    rows = json.loads(laneflow("plan", "overlap", "--sweep", "buffers.*.slots=2..4", "--json").out)["sweep"]
    for row in rows:
        slots = row["settings"]["buffers.*.slots"]
        words = [
            f"buffers.{name}.slots={slots}" for name in ("inputs", "outputs", "prompts", "firsts", "retiring")
        ]
        found = planned(laneflow, "overlap", *words)
        assert {key: found[key] for key in ("period_ms", "limit", "cycle", "memory_bytes")} == {
            key: row[key] for key in ("period_ms", "limit", "cycle", "memory_bytes")
        }


def test_a_choice_that_is_not_sound_is_a_row_with_its_codes(laneflow):
    called = laneflow("plan", "overlap", "--sweep", "buffers.inputs.slots=0..2", "--json")
    assert called.code == 0
    rows = json.loads(called.out)["sweep"]
    assert [row["codes"] for row in rows] == [["LF002"], ["LF301"], []]
    assert [row["period_ms"] for row in rows] == [None, None, 45.0]


def test_a_sweep_may_start_from_an_unsound_topology_and_fails_where_no_choice_is_sound(laneflow):
    start = ("plan", "overlap", "buffers.inputs.slots=1")
    assert laneflow(*start, "--sweep", "buffers.inputs.slots=1,2").code == 0
    called = laneflow(*start, "--sweep", "in_flight=1,2")
    assert called.code == 1
    assert called.out.endswith("none of these is sound\n")


def test_a_long_sweep_shows_a_bar_to_a_person_alone(laneflow, monkeypatch):
    monkeypatch.setattr(sweeping, "LONG", 2)
    words = ("plan", "pingpong", "--sweep", "buffers.*.slots=1..4")
    piped = laneflow(*words)
    assert piped.err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    shown = laneflow(*words)
    assert shown.out == piped.out
    assert "sweep" in terminal.getvalue()


def test_the_bar_has_no_colour_where_the_user_wants_none(laneflow, monkeypatch):
    monkeypatch.setattr(sweeping, "LONG", 2)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    laneflow("plan", "pingpong", "--sweep", "buffers.*.slots=1..4")
    assert "\x1b[3" not in terminal.getvalue()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_planning_does_not_import_torch():
    program = (
        "import sys; from graph.cli import main; assert main(['plan', 'pingpong']) == 0; "
        "assert main(['diff', 'pingpong', 'deep']) == 0; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL, timeout=60)
