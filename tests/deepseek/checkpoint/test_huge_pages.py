"""Large weights stand in huge pages where the kernel grants them to those who ask."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from deepseek.checkpoint.huge_pages import HUGE, advise_huge_pages

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


@pytest.mark.skipif(not ENABLED.exists(), reason="this kernel has no transparent huge pages")
def test_a_large_tensor_is_marked_and_keeps_its_content() -> None:
    tensor = torch.empty(4 * HUGE, dtype=torch.uint8)
    middle = tensor.data_ptr() + 2 * HUGE
    assert not advised(middle)
    advise_huge_pages([tensor])
    assert advised(middle)
    tensor.fill_(7)
    assert bool((tensor == 7).all())


def test_small_tensors_and_those_of_other_devices_are_left_alone() -> None:
    advise_huge_pages([torch.empty(10), torch.empty(HUGE, device="meta")])
