"""Weights in pages of 2 MiB where the kernel allows it: a decode step reads nearly all of them, and with small pages
much of its time goes into translating addresses."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable

import torch
from torch import Tensor

HUGE = 1 << 21
_LINE = 64
"""Bytes to which every weight is aligned, as torch aligns its own."""


def join(weights: Iterable[Tensor]) -> None:
    """Put CPU tensors side by side in one block of huge pages, and leave those of other devices alone.

    What they hold is not kept, nor that two share memory: to be called before they are filled. Where the kernel has no
    huge pages, nothing changes but where they are. They are views then: pickling one of them writes the whole block.
    """
    here = [weight for weight in weights if weight.device.type == "cpu"]
    if not here:
        return
    sizes = [-(-weight.nbytes // _LINE) * _LINE for weight in here]
    block = torch.empty(sum(sizes) + HUGE, dtype=torch.uint8)
    first = -block.data_ptr() % HUGE
    _advise(block.data_ptr() + first, sum(sizes))
    for weight, size in zip(here, sizes, strict=True):
        weight.data = block[first : first + weight.nbytes].view(weight.dtype).view(weight.shape)
        first += size


def _advise(address: int, size: int) -> None:
    """Ask for huge pages. A refusal changes nothing but speed."""
    if not sys.platform.startswith("linux"):
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes, madvise.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    madvise(address, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE, mmap.MADV_HUGEPAGE)
