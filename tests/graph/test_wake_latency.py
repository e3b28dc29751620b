"""What is asked of the kernel while a run is alive, and that nothing of it is left."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from graph import BindError
from graph import wake_latency as asked
from tests.fakes import probed


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for the kernel's file."""
    file = tmp_path / "cpu_dma_latency"
    file.touch()
    monkeypatch.setattr(asked, "REQUESTS", file)
    return file


def is_open(file: Path) -> bool:
    """Whether this process has the file open: as long as that lasts, so does the request."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue  # that of the listing itself
    return str(file) in found


@pytest.mark.parametrize("microseconds", [0, 20])
def test_the_request_holds_while_the_run_is_alive(requests: Path, microseconds: int) -> None:
    with probed("pingpong").run(wake_latency_us=microseconds) as run:
        assert is_open(requests)
        assert struct.unpack("=i", requests.read_bytes()) == (microseconds,)
        run.submit("step").result(timeout=30)
    assert not is_open(requests)


def test_nothing_is_asked_by_default(requests: Path) -> None:
    with probed("pingpong").run():
        assert not is_open(requests)
    assert requests.read_bytes() == b""


def test_nothing_is_left_of_a_run_that_does_not_start(requests: Path) -> None:
    probes = probed("pingpong")

    def start(context: object) -> None:
        assert is_open(requests)
        raise OSError("no start")

    probes.executor.nodes["dispatch"].start = start  # type: ignore[method-assign]
    with pytest.raises(Exception, match="no start"), probes.run(wake_latency_us=0):
        pytest.fail("the block must not run")
    assert not is_open(requests)


def test_a_kernel_that_does_not_take_it_is_no_silent_fallback(requests: Path) -> None:
    requests.unlink()
    requests.mkdir()
    with (
        pytest.raises(BindError, match=r"wake_latency_us=5: .*cpu_dma_latency.*leave it out"),
        probed("pingpong").run(wake_latency_us=5),
    ):
        pytest.fail("the block must not run")


@pytest.mark.skipif(
    not os.access(asked.REQUESTS, os.W_OK), reason=f"{asked.REQUESTS} is not to be written here"
)
def test_the_kernel_takes_it() -> None:
    with probed("pingpong").run(wake_latency_us=0) as run:
        assert is_open(asked.REQUESTS)
        run.submit("step").result(timeout=30)
    assert not is_open(asked.REQUESTS)


def test_a_trace_says_what_the_run_has_changed(requests: Path) -> None:
    del requests
    with probed("pingpong").run(wake_latency_us=0) as run:
        assert run.trace().notes == {"switch interval": "0.5 ms", "wake latency": "0 us"}
    with probed("pingpong").run(switch_interval_ms=None) as run:
        assert run.trace(notes={"dispatch": "eager"}).notes == {"dispatch": "eager"}
