"""Gated pooling of windows of tokens into compressed entries, for CSA (overlapping) and HCA (disjoint)."""

import torch
from torch import Tensor, nn

from deepseek.config import ModelConfig
from deepseek.model.primitives import Linear, RMSNorm, parameter
from deepseek.model.rope import Rope, rotate
from deepseek.model.step import Step, write


class Compressor(nn.Module):
    """Pools `rate` tokens (with `overlap`, also the `rate` before them) into an entry of `size` channels.

    Entry w is `norm(sum_j softmax_j(gate_j) * value_j)`, channel by channel, rotated at position `rate * w`.
    With overlap the channels double: the first half (series a) serves the next window, the second its own.
    """

    def __init__(
        self,
        config: ModelConfig,
        size: int,
        rate: int,
        overlap: bool,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        super().__init__()
        self.size, self.rate, self.overlap = size, rate, overlap
        width = 2 * size if overlap else size
        self.wkv = Linear(config.hidden_size, width, torch.float32, device)
        self.wgate = Linear(config.hidden_size, width, torch.float32, device)
        self.ape = parameter(rate, width, dtype=torch.float32, device=device)
        self.norm = RMSNorm(size, config.rms_norm_eps, dtype, device)

    def forward(self, x: Tensor, step: Step, rope: Rope, raw: Tensor, entries: Tensor) -> None:
        """Store the entries of the windows that x `[B, R, D]` closes, and x's own rows for later windows.

        Args:
            raw: [rows, ring, 2, width] values and gates of earlier tokens, updated.
            entries: [pages, per, size] updated.
        """
        new = torch.stack((self.wkv(x), self.wgate(x) + self.ape[step.t % self.rate]), 2)
        rows = torch.cat((raw[step.rows], new), 1)
        windows = step.windows(self.rate, entries.shape[1])
        pooled = self.norm(self._pool(rows, step, raw.shape[1], windows.index))
        rotated = rotate(pooled, *rope(windows.index * self.rate))
        write(entries, windows.write_page, windows.write_slot, rotated)
        ring = step.ring(raw.shape[1])
        write(raw, ring.write_row, ring.write_slot, new)

    def _pool(self, rows: Tensor, step: Step, ring: int, index: Tensor) -> Tensor:
        """Raw rows `[B, ring + R, 2, width]` to unnormed entries `[B, M, size]`."""
        slots = _take(rows[..., -self.size :], step.raw_index(self.rate, 0, ring))
        if self.overlap:
            before = _take(rows[..., : self.size], step.raw_index(self.rate, 1, ring))
            absent = (index == 0)[:, :, None, None]  # what memory holds there belongs to nobody
            value = before[..., 0, :].masked_fill(absent, 0)
            gate = before[..., 1, :].masked_fill(absent, -torch.inf)
            slots = torch.cat((torch.stack((value, gate), 3), slots), 2)
        return (slots[..., 1, :].softmax(2) * slots[..., 0, :]).sum(2)


def _take(rows: Tensor, index: Tensor) -> Tensor:
    """`rows [B, n, ...]` at `index [B, M, k]`: `[B, M, k, ...]`."""
    batch = torch.arange(rows.shape[0], device=rows.device)[:, None, None]
    return rows[batch, index]
