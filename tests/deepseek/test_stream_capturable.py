"""A decode step can be captured: it stays on the device, and nothing of it depends on what the tensors hold.

It is traced on a device without memory, where reading a value fails, and every operation is looked at. What torch
does inside of one operation on a real device is not seen here.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from deepseek.bundled import PATH
from deepseek.checkpoint import read_config
from deepseek.config import ModelConfig
from deepseek.decode import decode_into
from deepseek.model import Model
from deepseek.model.moe import Experts
from deepseek.state import Caches
from tests.deepseek.references import PARITY

DEVICE = "meta"
BATCH = 4
READS = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "unique", "masked_select", "_assert_async")
"""Operations whose result or shape the host waits for."""


class Seen(TorchDispatchMode):
    """Notes the operations below the level of gradients, and those that touch another device than `DEVICE`."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.elsewhere: list[str] = []

    def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = call(*args, **(kwargs or {}))
        name = str(call)
        self.operations.append(name)
        tensors = (leaf for leaf in tree_leaves((args, kwargs, found)) if isinstance(leaf, Tensor))
        if any(tensor.device.type != DEVICE for tensor in tensors):
            self.elsewhere.append(name)
        return found


def step(config: ModelConfig, rows: int) -> Any:
    """A decode step with nothing but shapes."""

    def whole(*shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
        return torch.empty(*shape, dtype=dtype, device=DEVICE)

    model = Model(config, predicts=rows > 1, device=DEVICE)
    caches = Caches.allocate(config, capacity=BATCH, context=64, rows_per_step=rows, page=16, device=DEVICE)
    inputs = SimpleNamespace(
        rows=whole(BATCH),
        generation=whole(BATCH, dtype=torch.int32),
        pages=whole(BATCH, caches.blocks),
        positions=whole(BATCH),
        tokens=whole(BATCH, rows),
    )
    outputs = SimpleNamespace(sampled=whole(BATCH, rows), next=whole(BATCH, rows), positions=whole(BATCH))
    state = SimpleNamespace(
        tokens=whole(BATCH, rows),
        positions=whole(BATCH),
        committed=whole(BATCH),
        generation=whole(BATCH, dtype=torch.int32),
        temperature=whole(BATCH, dtype=torch.float32),
        top_p=whole(BATCH, dtype=torch.float32),
        seed=whole(BATCH),
    )
    return lambda: decode_into(outputs, model, inputs, state, caches)


def seen(work: Any) -> Seen:
    with (
        torch.no_grad(),
        Seen() as found,
    ):  # in inference mode torch does not show what an operation consists of
        work()
    return found


@pytest.mark.parametrize(
    ("directory", "rows"),
    [(PARITY / "a", 3), (PATH, 3), pytest.param(PARITY / "real_rates", 1, marks=pytest.mark.slow)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_decode_step_stays_on_the_device_and_reads_nothing_back(
    monkeypatch: pytest.MonkeyPatch, directory: Path, rows: int
) -> None:
    monkeypatch.setattr(Experts, "_can_group", lambda experts, x: False)  # as on a CUDA device, see below
    found = seen(step(read_config(directory), rows))
    assert len(found.operations) > 1000
    assert found.elsewhere == []
    assert [name for name in found.operations if name.split(".")[1] in READS] == []


@pytest.mark.parametrize(
    ("dtype", "capability", "grouped"),
    [
        (torch.float32, (9, 0), False),
        (torch.bfloat16, (9, 0), True),
        (torch.bfloat16, (10, 0), True),
        (torch.bfloat16, (8, 0), False),
    ],
)
def test_experts_are_grouped_only_where_torch_reads_no_sizes_on_the_host(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, capability: tuple[int, int], grouped: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    experts = Experts(read_config(PATH), dtype, DEVICE)
    with FakeTensorMode():
        assert experts._can_group(torch.empty(2, dtype=dtype, device="cuda")) is grouped


def test_a_tensor_made_from_host_data_would_be_seen() -> None:
    target = torch.empty(2, device=DEVICE)
    assert seen(lambda: target.copy_(torch.tensor([1.0, 2.0]))).elsewhere


def test_a_value_that_is_read_would_fail() -> None:
    flag = torch.empty(1, device=DEVICE)
    with pytest.raises(Exception, match="meta"):
        seen(lambda: bool((flag > 0).any()))
