"""Weights in pages of 2 MiB where the kernel allows it: a decode step reads nearly all of them, and with small pages
much of its time goes into translating addresses."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable

from torch import Tensor

HUGE = 1 << 21


def advise_huge_pages(tensors: Iterable[Tensor]) -> None:
    """Ask for huge pages under large CPU tensors, before they are filled. A refusal changes nothing but speed."""
    if not sys.platform.startswith("linux"):
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes, madvise.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    for tensor in tensors:
        if tensor.device.type != "cpu":
            continue
        first = -(-tensor.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
        size = (tensor.data_ptr() + tensor.nbytes - first) // mmap.PAGESIZE * mmap.PAGESIZE
        if size >= HUGE:
            madvise(first, size, mmap.MADV_HUGEPAGE)
