"""The CUDA driver's fork and join, by the calls that it makes: the driver itself is not yet run on hardware."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nodes.chip_run.cuda import CudaChip, CudaExecutor, CudaStream
from nodes.chip_run.run_stream import RunStream


class Stream:
    def __init__(self, name: str, calls: list[tuple[str, ...]]) -> None:
        self.name, self.calls = name, calls

    def wait_event(self, event: Event) -> None:
        self.calls.append((self.name, "waits for", event.name))


class Event:
    def __init__(self, name: str, calls: list[tuple[str, ...]]) -> None:
        self.name, self.calls = name, calls
        self.reached = True

    def record(self, stream: Stream) -> None:
        self.calls.append((stream.name, "records", self.name))

    def query(self) -> bool:
        return self.reached


class Queue:
    """As on CUDA, work that is put on it is called at once."""

    def enqueue(self, work: Callable[[], object]) -> None:
        work()


@pytest.fixture
def calls() -> list[tuple[str, ...]]:
    return []


@pytest.fixture
def stream(calls: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> CudaStream:
    @contextmanager
    def current(stream: Stream) -> Iterator[None]:
        calls.append((stream.name, "is current"))
        yield

    lane = Stream("lane", calls)
    monkeypatch.setattr(
        "nodes.chip_run.cuda.torch",
        SimpleNamespace(
            device=torch.device, cuda=SimpleNamespace(stream=current, current_stream=lambda device: lane)
        ),
    )
    made = CudaStream.__new__(CudaStream)
    made.stream, made.fork, made.join = Stream("run", calls), Event("fork", calls), Event("join", calls)
    return made


FORK = [("lane", "records", "fork"), ("run", "waits for", "fork"), ("run", "is current")]
JOIN = [("run", "records", "join"), ("lane", "waits for", "join")]


def launch(stream: CudaStream, program: Callable[[Any, Any], object]) -> None:
    CudaExecutor(CudaChip()).launch(program, {}, {}, stream, Queue())  # type: ignore[arg-type]


def test_a_run_forks_from_the_lane_and_the_lane_joins_it(
    stream: CudaStream, calls: list[tuple[str, ...]]
) -> None:
    launch(stream, lambda arguments, results: calls.append(("run", "works")))
    assert calls == [*FORK, ("run", "works"), *JOIN]


def test_the_lane_joins_also_where_launching_fails(stream: CudaStream, calls: list[tuple[str, ...]]) -> None:
    def fail(arguments: Any, results: Any) -> None:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - any will do
        launch(stream, fail)
    assert calls == [*FORK, *JOIN]


def test_a_run_is_proved_by_its_join(stream: CudaStream) -> None:
    run = RunStream(stream)
    run.bind(0, None)
    run.launch(0)
    stream.join.reached = False  # type: ignore[attr-defined]
    assert not stream.done()
    stream.join.reached = True  # type: ignore[attr-defined]
    run.retire(0, proved=True)
    assert run.state == "ready"


def test_a_context_has_one_native_executor_and_is_closed_behind_it() -> None:
    chip = CudaChip("cuda:0")
    native = chip.executor()
    with pytest.raises(RuntimeError, match="one for each device context"):
        chip.executor()
    with pytest.raises(RuntimeError, match="leave the run's block first"):
        chip.close()
    native.close()
    chip.close()


def test_only_a_cuda_device_is_one() -> None:
    with pytest.raises(ValueError, match="give a CUDA device"):
        CudaChip("cpu")
