"""How torch works on a thread that runs nodes: settings that hold for the thread that makes them alone."""

from __future__ import annotations


def set_up_torch(threads: int | None) -> None:
    """Without gradients: a slot would keep the history of every step that wrote it. `threads` None leaves their number.

    A node that wants gradients enables them for itself.
    """
    import torch

    torch.set_grad_enabled(False)
    if threads is not None:
        torch.set_num_threads(threads)
