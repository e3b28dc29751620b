"""A run stream goes from ready to bound to launched and back, and says so where a step comes out of order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graph import Unfinished
from nodes.chip_run import RunStream, RunStreamError


class ChipStream:
    def __init__(self) -> None:
        self.is_done = True
        self.replenished = 0
        self.closed = 0

    def done(self) -> bool:
        return self.is_done

    def replenish(self) -> None:
        self.replenished += 1

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def chip() -> ChipStream:
    return ChipStream()


@pytest.fixture
def stream(chip: ChipStream) -> RunStream:
    return RunStream(chip)


def test_it_is_bound_launched_retired_and_ready_again(stream: RunStream, chip: ChipStream) -> None:
    for step in range(3):
        assert stream.state == "ready"
        stream.bind(step, "program")
        assert stream.state == "bound"
        assert stream.launch(step) == "program"
        assert stream.state == "launched"
        stream.retire(step, proved=True)
    assert (stream.state, stream.uses, chip.replenished) == ("ready", 3, 3)


def test_a_run_that_was_not_launched_needs_no_proof(stream: RunStream, chip: ChipStream) -> None:
    chip.is_done = False
    stream.bind(0, "program")
    stream.retire(0, proved=False)
    assert stream.state == "ready"


@pytest.mark.parametrize(("proved", "done"), [(False, True), (True, False), (False, False)])
def test_a_run_that_is_not_proved_complete_is_not_retired(
    stream: RunStream, chip: ChipStream, proved: bool, done: bool
) -> None:
    stream.bind(4, "program")
    stream.launch(4)
    chip.is_done = done
    with pytest.raises(Unfinished, match="the run of step 4 is not proved complete"):
        stream.retire(4, proved=proved)
    assert (stream.state, chip.replenished) == ("launched", 0)


MISUSES: dict[str, tuple[list[Callable[[RunStream], object]], str]] = {
    "bound twice": (
        [lambda s: s.bind(0, ""), lambda s: s.bind(2, "")],
        r"is bound \(last for step 0\), and step 2",
    ),
    "bound while launched": (
        [lambda s: s.bind(0, ""), lambda s: s.launch(0), lambda s: s.bind(2, "")],
        "is launched .* step 2 wants it bound: it has to be ready",
    ),
    "launched while ready": (
        [lambda s: s.launch(0)],
        "the run stream is ready, and step 0 wants it launched",
    ),
    "launched twice": (
        [lambda s: s.bind(0, ""), lambda s: s.launch(0), lambda s: s.launch(0)],
        "launched once",
    ),
    "launched for another step": ([lambda s: s.bind(0, ""), lambda s: s.launch(2)], "bound to that step"),
    "retired while ready": ([lambda s: s.retire(0, proved=True)], "step 0 wants it retired"),
    "retired for another step": (
        [lambda s: s.bind(2, ""), lambda s: s.retire(0, proved=True)],
        r"\(last for step 2\)",
    ),
    "bound when closed": ([lambda s: s.close(), lambda s: s.bind(0, "")], "is closed"),
    "closed twice": ([lambda s: s.close(), lambda s: s.close()], "closed before"),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_misuse_is_refused(stream: RunStream, name: str) -> None:
    uses, told = MISUSES[name]
    for use in uses[:-1]:
        use(stream)
    with pytest.raises(RunStreamError, match=told):
        uses[-1](stream)


def test_it_can_be_destroyed_while_a_run_is_on_it(stream: RunStream, chip: ChipStream) -> None:
    stream.bind(0, "program")
    stream.launch(0)
    stream.close()
    assert (stream.state, chip.closed) == ("closed", 1)


def test_a_stream_that_cannot_say_whether_it_is_done_is_not_used_again(
    stream: RunStream, chip: ChipStream
) -> None:
    """What it raised used to fail the step alone, and the stream's next one."""

    def done() -> bool:
        raise OSError("no answer")

    chip.done = done  # type: ignore[method-assign]
    stream.bind(0, "program")
    stream.launch(0)
    with pytest.raises(Unfinished, match="no answer"):
        stream.retire(0, proved=True)
