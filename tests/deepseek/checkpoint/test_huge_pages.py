"""Large weights stand in huge pages where the kernel grants them to those who ask."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from deepseek.bundled import PATH
from deepseek.checkpoint import load_model
from deepseek.checkpoint.huge_pages import HUGE, join

ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def advised(address: int) -> bool:
    """Whether the mapping that holds the address is marked for huge pages (`hg`)."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        bounds = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if bounds:
            inside = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "hg" in line.split()
    return False


def weights() -> list[torch.nn.Parameter]:
    """One that is larger than a huge page, one that fills no cache line, an empty one, one of another type."""
    return [
        torch.nn.Parameter(torch.empty(3, HUGE // 8), requires_grad=False),
        torch.nn.Parameter(torch.empty(5), requires_grad=False),
        torch.nn.Parameter(torch.empty(0, 7), requires_grad=False),
        torch.nn.Parameter(torch.empty(2, 3, dtype=torch.int64), requires_grad=False),
    ]


@pytest.mark.skipif(not ENABLED.exists(), reason="this kernel has no transparent huge pages")
def test_the_block_is_marked_from_the_first_weight_to_the_last() -> None:
    joined = weights()
    join(joined)
    assert joined[0].data_ptr() % HUGE == 0
    for weight in joined:
        assert weight.numel() == 0 or advised(weight.data_ptr())


def test_weights_keep_shape_type_and_strides_and_do_not_overlap() -> None:
    joined = weights()
    join(joined)
    assert [(one.shape, one.dtype, one.stride()) for one in joined] == [
        (one.shape, one.dtype, one.stride()) for one in weights()
    ]
    for number, weight in enumerate(joined):
        weight.fill_(number)
    for number, weight in enumerate(joined):
        assert bool((weight == number).all())
        assert weight.data_ptr() % 64 == 0
    assert not any(weight.requires_grad for weight in joined)


def test_weights_of_other_devices_are_left_alone() -> None:
    weight = torch.nn.Parameter(torch.empty(HUGE, device="meta"), requires_grad=False)
    join([weight])
    assert weight.device.type == "meta"


def test_a_loaded_model_has_its_weights_in_one_block() -> None:
    model = load_model(PATH, capacity=1, context=64)
    assert len({weight.untyped_storage().data_ptr() for weight in model.parameters()}) == 1
