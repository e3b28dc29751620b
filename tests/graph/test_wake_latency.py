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
    return any(_points_at(descriptor, file) for descriptor in os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("microseconds", [0, 20])
def test_the_request_holds_while_the_run_is_alive(requests: Path, microseconds: int) -> None:
    with probed("pingpong").run(wake_latency_us=microseconds) as run:
        assert is_open(requests)
        assert struct.unpack("=i", requests.read_bytes()) == (microseconds,)
        run.submit("step").result(timeout=30)
    assert not is_open(requests)
    # what is written last holds for whoever has the same file open, such as a process that was forked meanwhile
    assert struct.unpack("=ii", requests.read_bytes())[1] == asked.LONGEST_US


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


@pytest.mark.parametrize("kind", ["folder", "none", "full"])
def test_a_kernel_that_does_not_take_it_is_no_silent_fallback(
    requests: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Where there was no such file, it used to be made."""
    requests.unlink()
    if kind == "folder":
        requests.mkdir()
    elif kind == "full":
        monkeypatch.setattr(asked, "REQUESTS", Path("/dev/full"))
    with (
        pytest.raises(BindError, match=r"wake_latency_us=5: .*/.*leave it out"),
        probed("pingpong").run(wake_latency_us=5),
    ):
        pytest.fail("the block must not run")
    assert kind == "folder" or not requests.exists()


@pytest.mark.skipif(
    not os.access(asked.REQUESTS, os.R_OK | os.W_OK), reason="no such file of the kernel's here"
)
def test_a_forked_process_does_not_keep_the_request() -> None:
    def now() -> int:
        file = os.open(asked.REQUESTS, os.O_RDONLY)
        try:
            return int(struct.unpack("=i", os.read(file, 4))[0])
        finally:
            os.close(file)

    before = now()
    with asked.waking_within(7):
        assert now() == min(before, 7)
        inherited = os.dup(
            next(int(fd) for fd in os.listdir("/proc/self/fd") if _points_at(fd, asked.REQUESTS))
        )
    try:
        assert now() == before
    finally:
        os.close(inherited)


def _points_at(descriptor: str, file: Path) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}") == str(file)
    except OSError:
        return False  # that of the listing itself


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
        assert run.trace().notes == {"switch interval": "0.25 ms", "wake latency": "0 us"}
    with probed("pingpong").run(switch_interval_ms=None) as run:
        assert run.trace(notes={"dispatch": "eager"}).notes == {"dispatch": "eager"}
