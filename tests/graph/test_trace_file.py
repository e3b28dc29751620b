"""Trace files, read by code that knows only the published format, and by `read`, which gives the run back."""

from __future__ import annotations

import csv
import json
import os
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from graph import Runtime, compile, load
from graph.content import content
from graph.report import report
from graph.trace import Clock, Process, Trace
from graph.trace_file import TraceError, check_writable, durations, read, write
from nodes.simulated import simulated
from tests.fakes import probed
from tests.graph.random_topologies import sound
from tests.graph.spans import PIPELINE, span, steps, trace
from tests.graph.trace_format import File, open_file

COSTS = {"prepare": 0.2, "dispatch": 1.0, "reclaim": 0.2}
ROUTES = ("decode", "prefill", "decode", "decode", "retire")


def recorded(name: str, count: int = 20, routes: tuple[str, ...] = ROUTES) -> Trace:
    topology = load(name)
    with Runtime(compile(topology), simulated(topology, COSTS, holds_lock=False)) as run:
        for number in range(count):
            run.submit(number, route=routes[number % len(routes)])
    return run.trace()


def same(first: Trace, second: Trace) -> bool:
    """Whether two traces are equal; topologies by what they say."""
    return replace(first, topology=PIPELINE) == replace(second, topology=PIPELINE) and content(
        first.topology
    ) == content(second.topology)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., File]:
    def call(*traces: Trace) -> File:
        write(tmp_path / "trace.json", *traces)
        return open_file(tmp_path / "trace.json")

    return call


@pytest.mark.parametrize("name", ["sync", "pingpong", "overlap", "deep"])
def test_the_format_holds_and_nothing_is_lost(name: str, tmp_path: Path, nothing_left: None) -> None:
    run = recorded(name)
    write(tmp_path / "trace.json", run)
    open_file(tmp_path / "trace.json")
    (back,) = read(tmp_path / "trace.json")
    assert same(back, run)


def test_every_lane_is_a_track_filled_with_work_and_waits(
    written: Callable[..., File], nothing_left: None
) -> None:
    run = recorded("pingpong")
    file = written(run)
    for lane in run.topology.lanes:
        slices = file.on(f"lane {lane}")
        work = [one for one in slices if one.category == "work"]
        own = [one for one in run.spans if one.lane == lane]
        assert [(one.name, one.args["step"], one.args["route"]) for one in work] == [
            (one.node, one.step, one.route) for one in own
        ]
        inside = slices[slices.index(work[0]) : slices.index(work[-1]) + 1]
        for before, after in pairwise(inside):
            assert after.start == pytest.approx(before.end, abs=0.0015)


def test_waiting_is_apart_from_work_and_says_for_what(written: Callable[..., File]) -> None:
    file = written(trace([span("prepare", 0, 1, 3), span("dispatch", 0, 4, 9, ready=2)]))
    device = file.on("lane device")
    assert [(one.name, one.category) for one in device] == [
        ("wait: `prepare` to end", "wait"),
        ("wait: overhead (wake-up, interpreter, laneflow)", "wait"),
        ("dispatch", "work"),
    ]
    assert device[-1].args["waited_us"] == 2000
    assert device[-1].args["waited_for"] == "`prepare` to end"


def test_every_slot_is_a_track_of_what_was_acquired_and_released(written: Callable[..., File]) -> None:
    times = {k: [(node, 10 * k + at, 10 * k + at + 1) for at, node in enumerate(DECODE, 1)] for k in range(3)}
    file = written(trace(steps(times)))
    first, second = file.on("inputs[0]"), file.on("inputs[1]")
    assert [(one.name, one.start, one.end) for one in first] == [
        ("step 0 (decode)", 0, 4000),
        ("step 2 (decode)", 20000, 24000),
    ]
    assert [(one.name, one.start, one.end) for one in second] == [("step 1 (decode)", 10000, 14000)]


DECODE = ("prepare", "dispatch", "reclaim", "release")


def test_a_slot_that_was_never_given_back_is_held_to_the_end(written: Callable[..., File]) -> None:
    (tenure,) = written(trace([span("prepare", 0, 1, 3), span("dispatch", 0, 4, 9)])).on("inputs[0]")
    assert (tenure.start, tenure.end) == (0, 8000)
    assert tenure.args["still_held"] is True


def test_bubbles_move_the_slot_and_not_the_step(written: Callable[..., File]) -> None:
    file = written(trace([span("prepare", 4, 1, 3, turn=5), span("release", 4, 4, 5, turn=5)]))
    assert file.on("inputs[0]") == []
    assert [one.name for one in file.on("inputs[1]")] == ["step 4 (decode)"]


def test_a_firing_tells_its_slots_rows_and_error(written: Callable[..., File]) -> None:
    firing = span("dispatch", 1, 1, 3, rows=((4, 2), (7, 1)), device=1.5, error="step 1 failed in `dispatch`")
    (one,) = written(trace([firing])).on("lane device")
    assert one.args["slots"] == ["inputs[1]"]
    assert one.args["rows"] == [[4, 2], [7, 1]]
    assert one.args["device_us"] == 1500
    assert one.args["error"] == "step 1 failed in `dispatch`"


@pytest.mark.parametrize("name", ["sync", "latebind", "deep"])
def test_arrows_follow_every_edge_from_end_to_start(
    name: str, written: Callable[..., File], nothing_left: None
) -> None:
    run = recorded(name)
    file = written(run)
    fired = {(one.node, one.turn) for one in run.spans}
    expected = sorted(
        (str(key), turn)
        for key in run.topology.edges
        for node, turn in fired
        if node == key.consumer and (key.producer, turn - key.back) in fired
    )
    seen = []
    for edge, start, end in file.arrows:
        source, target = file.at(start), file.at(end)
        producer, _, consumer = edge.partition(" -> ")
        node, _, back = producer.partition("@")
        assert (source.name, target.name) == (node, consumer)
        assert target.args["turn"] - source.args["turn"] == int(back or 0)
        assert start["ts"] == pytest.approx(source.end, abs=0.0015)
        assert end["ts"] == target.start
        seen.append((edge, target.args["turn"]))
    assert sorted(seen) == expected
    assert len(seen) > 20


def test_random_runs_keep_the_format_and_come_back(tmp_path: Path, nothing_left: None) -> None:
    for number, topology in enumerate(sound(seed=5, count=15)):
        made = probed(topology)
        routes = list(topology.steps_routes())
        with made.run() as run:
            for step in range(8):
                run.submit(step, route=routes[step % len(routes)])
        made_trace = run.trace()
        write(tmp_path / "trace.json", made_trace)
        open_file(tmp_path / "trace.json")
        (back,) = read(tmp_path / "trace.json")
        assert same(back, made_trace), number


def test_gaps_taken_from_the_file_are_those_of_the_report(tmp_path: Path, nothing_left: None) -> None:
    run = recorded("pingpong", 40, ("decode",))
    write(tmp_path / "trace.json", run)
    work = [one for one in open_file(tmp_path / "trace.json").on("lane device") if one.name == "dispatch"]
    by_step = {one.args["step"]: one for one in work}
    pairs = [(by_step[step], by_step[step + 1]) for step in by_step if step + 1 in by_step]
    gap_py = statistics.median(b.start - a.end for a, b in pairs) / 1000
    gap_true = statistics.median(b.start - a.start - a.args["device_us"] for a, b in pairs) / 1000
    live, stored = report(run), report(*read(tmp_path / "trace.json"))
    assert stored == live
    assert stored.gap_py is not None
    assert stored.gap_true is not None
    assert stored.gap_py.median == pytest.approx(gap_py, abs=1e-5)
    assert stored.gap_true.median == pytest.approx(gap_true, abs=1e-5)


def test_a_trace_is_self_contained(tmp_path: Path) -> None:
    topology = load("pingpong", ["buffers.inputs.slots=3"])
    made = trace(
        [], topology, rank=2, fallback="no device_state", dims={"batch": 4}, versions={"python": "3"}
    )
    write(tmp_path / "trace.json", made)
    (back,) = read(tmp_path / "trace.json")
    assert back.topology.buffers["inputs"].slots == 3
    assert (back.fallback, back.dims, back.versions) == ("no device_state", {"batch": 4}, {"python": "3"})
    assert back.process == Process(100, 2, "host")
    compile(back.topology)


def test_a_run_on_the_fallback_tells_which_topology_ran_and_why(tmp_path: Path, nothing_left: None) -> None:
    with probed("pingpong", capabilities=frozenset()).run() as run:
        run.submit(0)
    write(tmp_path / "trace.json", run.trace())
    (back,) = read(tmp_path / "trace.json")
    assert back.topology.topology == "sync"
    assert "device_state" in str(back.fallback)
    assert {one.lane for one in back.spans} == {"main"}


def test_a_full_buffer_keeps_the_newest_and_tells_how_many_are_lost(
    monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    monkeypatch.setattr("graph.parts.SPANS_KEPT", 10)
    made = probed("pingpong")
    with made.run() as run:
        for step in range(9):
            run.submit(step)
    found = run.trace()
    assert found.dropped == {"host": 8, "device": 0, "output": 8}
    assert [one.step for one in found.spans if one.node == "prepare"] == [4, 5, 6, 7, 8]


def test_a_failed_firing_is_recorded_and_its_step_goes_no_further(nothing_left: None) -> None:
    def behave(node: str, step: Any, slots: Any) -> None:
        if (node, step.index) == ("dispatch", 1):
            raise RuntimeError("device on fire")

    with probed("pingpong", behave).run() as run:
        for step in range(3):
            run.submit(step)
    errors = {(one.node, one.step): one.error for one in run.spans() if one.error}
    assert list(errors) == [("dispatch", 1)]
    assert "device on fire" in str(errors["dispatch", 1])
    assert [one.node for one in run.spans() if one.step == 1] == ["prepare", "bind", "dispatch", "release"]


def test_durations_are_medians_by_node_and_leave_failures_out(tmp_path: Path) -> None:
    spans = steps({k: [("dispatch", 10 * k, 10 * k + took)] for k, took in enumerate((1, 2, 9))})
    spans += [span("other", 3, 40, 47, route="prefill"), span("dispatch", 4, 50, 59, error="failed")]
    write(tmp_path / "trace.json", trace(spans))
    assert durations(tmp_path / "trace.json") == {"dispatch": 2.0, "other": 7.0}
    assert durations(tmp_path / "trace.json", "prefill") == {"other": 7.0}


# -- several ranks


def rank(number: int, start: float, **other: Any) -> Trace:
    return trace([span("dispatch", 0, start, start + 1)], rank=number, **other)


def starts(file: File) -> dict[str, float]:
    """By process, when its dispatch starts; microseconds after the first event."""
    return {file.processes[one.track[0]]: one.start for one in file.slices if one.name == "dispatch"}


def test_ranks_of_one_machine_share_its_clock(written: Callable[..., File]) -> None:
    one, two = rank(0, 5, clock=Clock(0, 10**15, "boot")), rank(1, 7, clock=Clock(0, 10**18, "boot"))
    assert starts(written(two, one)) == {"laneflow test, rank 0": 0, "laneflow test, rank 1": 2000}


def test_ranks_of_several_machines_are_joined_by_the_wall_clock(written: Callable[..., File]) -> None:
    """Rank 1's machine started 3 ms later: its own clock shows 3 ms less at the same moment."""
    one = rank(0, 5, clock=Clock(10_000_000, 10**18, "a"))
    two = rank(1, 2, clock=Clock(7_000_000, 10**18, "b"))
    assert starts(written(one, two)) == {"laneflow test, rank 0": 0, "laneflow test, rank 1": 0}


def test_merged_ranks_come_back_by_rank_each_on_its_own_clock(tmp_path: Path) -> None:
    one = rank(0, 5, clock=Clock(10_000_000, 10**18, "a"))
    two = rank(1, 2, clock=Clock(7_000_000, 10**18, "b"))
    write(tmp_path / "trace.json", two, one)
    back = read(tmp_path / "trace.json")
    assert [same(a, b) for a, b in zip(back, (one, two), strict=True)] == [True, True]


def test_ranks_with_one_process_id_stay_apart(written: Callable[..., File]) -> None:
    file = written(rank(0, 5), rank(1, 7))
    assert len({one.track[0] for one in file.slices}) == 2


def test_arrows_of_merged_ranks_do_not_share_ids(written: Callable[..., File]) -> None:
    firings = steps({0: [("prepare", 0, 1), ("dispatch", 2, 3)]})
    assert len(written(trace(firings), trace(firings, rank=1)).arrows) == 2


def test_two_traces_of_one_rank_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="its rank is 0"):
        write(tmp_path / "trace.json", rank(0, 5), rank(0, 7))
    assert list(tmp_path.iterdir()) == []


# -- files that are no traces


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("\xff", "not JSON"),
        ("[]", "not a trace of laneflow"),
        ('{"traceEvents": []}', "not a trace of laneflow"),
        (
            '{"metadata": {"laneflow": {"format": 99, "processes": []}}, "traceEvents": []}',
            "its format is 99",
        ),
        ('{"metadata": {"laneflow": {"format": 1, "processes": [{}]}}, "traceEvents": []}', "damaged"),
        ('{"metadata": {"laneflow": {"format": 1, "processes": [3]}}, "traceEvents": []}', "damaged"),
        ('{"metadata": {"laneflow": {"format": 1, "processes": 3}}, "traceEvents": []}', "damaged"),
    ],
)
def test_what_is_no_trace_is_told_with_its_name(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(TraceError, match=says) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


def damage(document: dict[str, Any], change: str) -> None:
    about = document["metadata"]["laneflow"]["processes"][0]
    work = next(event for event in document["traceEvents"] if event.get("cat") == "work")
    changes: dict[str, Callable[[], Any]] = {
        "no step": lambda: work["args"].pop("step"),
        "no time": lambda: work.update(ts="soon"),
        "no node": lambda: work.update(name="ghost"),
        "no route": lambda: work["args"].update(route="ghost"),
        "no lane": lambda: work.update(tid=77),
        "no events": lambda: document.pop("traceEvents"),
        "no topology": lambda: about.update(topology={"nodes": 3}),
        "no clock": lambda: about.update(clock={"sun": 1}),
    }
    changes[change]()


@pytest.mark.parametrize(
    "change", ["no step", "no time", "no node", "no route", "no lane", "no events", "no topology", "no clock"]
)
def test_a_damaged_trace_is_refused_by_name(tmp_path: Path, change: str) -> None:
    path = tmp_path / "trace.json"
    write(path, trace([span("dispatch", 0, 1, 2)]))
    document = json.loads(path.read_text())
    damage(document, change)
    path.write_text(json.dumps(document))
    with pytest.raises(TraceError, match="damaged") as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"gone\.json: cannot be read: No such file"):
        read(tmp_path / "gone.json")


def test_where_no_file_can_be_written_is_told_before_and_after(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "trace.json", tmp_path):
        with pytest.raises(TraceError, match="cannot be written"):
            check_writable(path)
        with pytest.raises(TraceError, match="cannot be written"):
            write(path, trace([]))
    check_writable(tmp_path / "trace.json")
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "traces" / "real.json", tmp_path / "link.json"
    real.parent.mkdir()
    link.symlink_to(real)  # to a file that is not there yet, and then to one that is
    for _ in range(2):
        check_writable(link)
        write(link, trace([]))
        assert link.is_symlink()
        assert len(read(real)) == 1
    assert list(real.parent.iterdir()) == [real]
    link.unlink()
    link.symlink_to(tmp_path / "no" / "trace.json")
    with pytest.raises(TraceError, match="cannot be written"):
        check_writable(link)


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    """A trace used to take its place, and that of a device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, trace([]))
        came = b"".join(iter(lambda: os.read(reader, 1 << 16), b""))
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    (tmp_path / "copy.json").write_bytes(came)
    assert len(read(tmp_path / "copy.json")) == 1


# -- Perfetto


@pytest.mark.skipif(
    "TRACE_PROCESSOR" not in os.environ, reason="TRACE_PROCESSOR names no trace_processor_shell"
)
def test_perfetto_loads_every_slice_and_arrow_without_a_complaint(tmp_path: Path, nothing_left: None) -> None:
    run = recorded("deep")
    path = tmp_path / "trace.json"
    write(path, run)
    file = open_file(path)
    complaints = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
    assert query(path, complaints) == []
    assert query(path, "select count(*) from slice") == [[str(len(file.slices))]]
    assert query(path, "select count(*) from flow") == [[str(len(file.arrows))]]
    tracks = "slice s join thread_track k on s.track_id = k.id join thread t using (utid)"
    rows = query(path, f"select t.name, s.name, s.dur from {tracks}")
    work = {(lane, name, int(took)) for lane, name, took in rows}
    assert {(f"lane {one.lane}", one.node, one.end - one.start) for one in run.spans} <= work
    ends = "select o.name, i.name from flow f join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id"
    edges = {(key.producer, key.consumer) for key in run.topology.edges}
    assert {(a, b) for a, b in query(path, ends)} <= edges


def query(trace_file: Path, sql: str) -> list[list[str]]:
    """The rows that Perfetto's trace processor gives."""
    asked = trace_file.with_suffix(".sql")
    asked.write_text(f"{sql};\n")
    command = [os.environ["TRACE_PROCESSOR"], "-q", str(asked), str(trace_file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return list(csv.reader(done.stdout.splitlines()))[1:]
