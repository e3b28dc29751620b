"""Tests of small networks are fastest, and repeatable to the last bit, on one thread; no test finds compiled steps
that happen to be on the machine."""

from collections.abc import Iterator

import pytest
import torch

from tests.graph.conftest import collected, hectic, nothing_left

__all__ = ["collected", "hectic", "nothing_left"]


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def no_compiled_steps(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "no-compiled-steps"))
