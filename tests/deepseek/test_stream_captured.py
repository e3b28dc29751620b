"""The decode step is captured once for each slot and replayed; a slot that is replaced is captured anew.

The stand-in for a CUDA graph calls again what it was given, on the tensors it was given: as blind as a graph to a
slot that has been replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from deepseek import pipeline
from deepseek.captured import CapturedDispatch, Graphs
from graph.cli import main
from graph.errors import LifecycleError
from nodes.misbehaving import Never, misbehaving
from tests.deepseek.streaming import Decoding, expected, model

pytestmark = pytest.mark.usefixtures("nothing_left")


class Recorded:
    def __init__(self, number: int, work: Callable[[], object], log: list[tuple[str, int]]) -> None:
        self.number, self.work, self.log = number, work, log
        log.append(("capture", number))

    def replay(self) -> None:
        assert ("drop", self.number) not in self.log, "a graph that was dropped is replayed"
        self.log.append(("replay", self.number))
        self.work()

    def reset(self) -> None:
        assert ("drop", self.number) not in self.log, "a graph is dropped twice"
        self.log.append(("drop", self.number))


class Recording:
    """`log` has what becomes of each graph, by its number in order of capture; number 0 is made at start."""

    def __init__(self) -> None:
        self.log: list[tuple[str, int]] = []

    def __call__(self, work: Callable[[], object]) -> Recorded:
        return Recorded(len(self.of("capture")), work, self.log)

    def of(self, what: str) -> list[int]:
        return [number for happened, number in self.log if happened == what]


def decoded(recording: Recording, topology: str, *overrides: str, **options: object) -> Decoding:
    dispatch = CapturedDispatch(model(), recording)
    return Decoding(topology, *overrides, nodes={"dispatch": dispatch}, **options)  # type: ignore[arg-type]


def test_each_slot_is_captured_once_and_gives_the_same_tokens() -> None:
    recording = Recording()
    found = decoded(recording, "stream", checked=True)
    assert tuple(map(tuple, found.tokens)) == expected()
    assert recording.of("capture") == [0, 1, 2]
    assert set(recording.of("replay")) == {1, 2}
    assert len(recording.of("replay")) == found.stats.steps["decode"] + found.stats.steps["mixed"]


def test_all_graphs_are_dropped_at_the_end_and_the_first_one_last() -> None:
    """The first has the memory that all of them work in."""
    recording = Recording()
    decoded(recording, "stream")
    assert [what for what, _ in recording.log[-3:]] == ["drop"] * 3
    assert recording.log[-1] == ("drop", 0)


def test_slots_of_unequal_number_are_captured_by_pairs() -> None:
    recording = Recording()
    found = decoded(recording, "stream", "buffers.device_inputs.slots=3")
    assert tuple(map(tuple, found.tokens)) == expected()
    assert len(recording.of("capture")) == 1 + 6


@pytest.mark.parametrize(
    ("topology", "override"),
    [("stream", "lanes.device.worker=thread"), ("pingpong", "lanes.device.worker=stream")],
)
def test_off_a_queue_and_on_the_hosts_memory_nothing_is_captured(topology: str, override: str) -> None:
    recording = Recording()
    assert tuple(map(tuple, decoded(recording, topology, override).tokens)) == expected()
    assert recording.log == []


def test_a_slot_that_is_replaced_is_captured_anew_and_the_old_graph_is_dropped() -> None:
    """The second decode step is not proved complete: its slots are replaced, and its rows are lost."""
    recording, call = Recording(), 4
    found = decoded(
        recording, "stream", make_queue=misbehaving({call: Never()}, "device"), completion_timeout=0.3
    )
    assert {buffer for buffer, _, _ in found.run.quarantined} == {"device_inputs", "device_outputs"}
    for number, whole in enumerate(expected()):
        one = found.told[str(number)]
        assert one.tokens == list(whole[: len(one.tokens)])
    assert recording.of("capture") == [0, 1, 2, 3]
    renewed = recording.log.index(("capture", 3))
    old = recording.log[renewed + 1]
    assert old in (("drop", 1), ("drop", 2))
    assert {number for what, number in recording.log[renewed:] if what == "replay"} == {1, 2, 3} - {old[1]}


def test_a_step_that_cannot_be_captured_is_told_at_start() -> None:
    def refuses(work: Callable[[], object]) -> Recorded:
        raise RuntimeError("operation not permitted when stream is capturing")

    dispatch = CapturedDispatch(model(), refuses)
    with pytest.raises(
        LifecycleError, match=r"cannot be captured as a CUDA graph: operation.*Run it eagerly: --eager"
    ):
        Decoding("stream", nodes={"dispatch": dispatch})


@pytest.mark.parametrize(
    ("way", "told"), [((), "captured as CUDA graphs"), (("--eager",), "eager (as asked)")]
)
def test_the_report_says_how_decode_steps_ran(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], way: tuple[str, ...], told: str
) -> None:
    monkeypatch.setattr(pipeline, "CapturedDispatch", partial(CapturedDispatch, capture=Recording()))
    assert main(["run", "stream", "--prompt", "a", "--max-tokens", "6", *way]) == 0
    assert told in capsys.readouterr().out


def test_the_graph_that_was_not_replayed_for_longest_makes_room() -> None:
    recording, done = Recording(), list[int]()
    graphs = Graphs(recording, 2)
    for address in (1, 2, 1, 3, 1, 2):
        graphs.replay((address,), lambda address=address: done.append(address))  # type: ignore[misc]
    assert done == [1, 2, 1, 3, 1, 2]
    assert recording.of("capture") == [0, 1, 2, 3]  # of the addresses 1, 2, 3, and 2 again
    assert recording.of("drop") == [1, 2]
