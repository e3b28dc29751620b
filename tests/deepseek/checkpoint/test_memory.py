"""Whether a model fits is known from figures alone."""

from pathlib import Path

import pytest
import torch

from deepseek.checkpoint import CheckpointError, MemoryNeeds, available_memory, check_memory, memory_needs
from deepseek.checkpoint.memory import _cgroup_room
from deepseek.state import Caches
from tests.deepseek.references import model

GIB = 1024**3


def test_needs_are_what_model_and_caches_take() -> None:
    network = model("a", predicts=True)
    needs = memory_needs(network.config, capacity=3, context=100, rows_per_step=2, dtype=torch.float32)
    assert needs.weights == sum(tensor.nbytes for tensor in network.state_dict().values())
    caches = Caches.allocate(network.config, capacity=3, context=100, rows_per_step=2)
    assert needs.caches == caches.nbytes
    assert needs.total == needs.weights + needs.caches


def test_fewer_pages_need_less() -> None:
    config = model("a").config
    all_rows, shared = (
        memory_needs(config, capacity=3, context=100, page=10, pages=pages, dtype=torch.float32)
        for pages in (None, 7)
    )
    assert shared.caches == Caches.allocate(config, capacity=3, context=100, page=10, pages=7).nbytes
    assert shared.caches < all_rows.caches


def test_half_precision_needs_less() -> None:
    wide, narrow = (
        memory_needs(model("a").config, capacity=3, context=100, dtype=dtype)
        for dtype in (torch.float32, torch.bfloat16)
    )
    assert narrow.weights < wide.weights
    assert narrow.caches < wide.caches


def test_refusal_gives_all_figures_and_what_to_do() -> None:
    needs = MemoryNeeds(weights=3 * GIB, caches=5 * GIB // 2)
    with pytest.raises(CheckpointError) as refusal:
        check_memory(Path("model"), needs, 4 * GIB, "cpu")
    assert str(refusal.value) == (
        "model: needs 3.0 GiB for weights and 2.5 GiB for caches on cpu, where 4.0 GiB are available. "
        "Lower the capacity or the context, choose a narrower dtype, or use a larger device"
    )


def test_exact_fit_is_accepted() -> None:
    check_memory(Path("model"), MemoryNeeds(weights=10, caches=5), 15, "cpu")


def test_this_machine_has_memory() -> None:
    assert available_memory(torch.device("cpu")) > 0


def test_control_group_limits_what_is_available(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert _cgroup_room(tmp_path) == [600]


def test_older_control_groups_count_too(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/memory.limit_in_bytes").write_text("1000\n")
    (tmp_path / "memory/memory.usage_in_bytes").write_text("1400\n")
    assert _cgroup_room(tmp_path) == [0]


def test_control_group_without_limit_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert _cgroup_room(tmp_path) == []
