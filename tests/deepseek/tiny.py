"""A random network of eight tokens and its request state, for tests that count or compare many outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import torch

from deepseek.checkpoint import read_config
from deepseek.decode_step import Decoded, decode_step
from deepseek.model import Model
from deepseek.prefill_step import Begun, prefill_step
from deepseek.sizes import Sizes
from deepseek.state import Caches
from deepseek.steps import GREEDY, Sampling
from tests.deepseek.references import PARITY

VOCABULARY = 8


def tiny_model(seed: int = 3) -> Model:
    """Layers of every kind, and a prediction block; logits spread so that every token has a chance."""
    config = read_config(PARITY / "a")
    config = config.model_copy(update={"vocab_size": VOCABULARY, "layers": config.layers[1:4]})
    model = Model(config, predicts=True)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if tensor.dtype == torch.int64:
                tensor.random_(config.n_routed_experts, generator=random)
                continue
            wide = tensor.dim() > 1
            tensor.normal_(0.0 if wide else 1.0, 0.1, generator=random)
            if wide:
                tensor.mul_(10 * tensor.shape[-1] ** -0.5)
            if name == "head.weight":
                tensor.mul_(0.7)
    return model.eval()


class Device:
    """The state of `capacity` requests, and steps on it without lanes."""

    def __init__(self, model: Model, sizes: Sizes) -> None:
        self.model, self.sizes = model, sizes
        capacity, rows = sizes.capacity, sizes.rows
        self.state = SimpleNamespace(
            tokens=torch.zeros(capacity, rows, dtype=torch.int64),
            positions=torch.zeros(capacity, dtype=torch.int64),
            committed=torch.zeros(capacity, dtype=torch.int64),
            generation=torch.zeros(capacity, dtype=torch.int32),
            temperature=torch.zeros(capacity),
            top_p=torch.zeros(capacity),
            seed=torch.zeros(capacity, dtype=torch.int64),
        )
        self.caches = Caches.allocate(
            model.config,
            capacity=capacity,
            context=sizes.context,
            rows_per_step=rows,
            page=sizes.page,
            pages=sizes.pages,
        )

    def prefill(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        rows: Sequence[int] | None = None,
        generation: int = 1,
        samplings: Sequence[Sampling] | None = None,
        position: int = 0,
        following: int = -1,
    ) -> Begun:
        """One chunk for each request; by default a whole prompt each, in rows 0, 1, ..."""
        count = len(prompts)
        rows = range(count) if rows is None else rows
        samplings = [GREEDY] * count if samplings is None else samplings
        width = max(map(len, prompts))
        tokens = torch.zeros(count, width, dtype=torch.int64)
        for place, prompt in zip(tokens, prompts, strict=True):
            place[: len(prompt)] = torch.tensor(prompt)
        chunks = SimpleNamespace(
            tokens=tokens,
            rows=torch.tensor(rows),
            generation=torch.full((count,), generation, dtype=torch.int32),
            pages=self._pages(rows),
            positions=torch.full((count,), position),
            length=torch.tensor([len(prompt) for prompt in prompts]),
            following=torch.full((count,), following),
            temperature=torch.tensor([one.temperature for one in samplings]),
            top_p=torch.tensor([one.top_p for one in samplings]),
            seed=torch.tensor([one.seed for one in samplings]),
        )
        with torch.inference_mode():
            return prefill_step(self.model, chunks, self.state, self.caches)

    def decode(self, rows: Sequence[int], *, generation: int = 1) -> Decoded:
        """One step of the requests in these rows."""
        count = len(rows)
        inputs = SimpleNamespace(
            rows=torch.tensor(rows),
            generation=torch.full((count,), generation, dtype=torch.int32),
            pages=self._pages(rows),
            positions=torch.full((count,), -1),
            tokens=torch.full((count, self.sizes.rows), -1),
        )
        with torch.inference_mode():
            return decode_step(self.model, inputs, self.state, self.caches)

    def _pages(self, rows: Sequence[int]) -> torch.Tensor:
        blocks = self.sizes.blocks
        own = torch.tensor(rows).unsqueeze(1) * blocks + torch.arange(blocks)
        return torch.where(own < self.sizes.pages, own, self.sizes.pages)

    def snapshot(self, row: int) -> list[torch.Tensor]:
        """A copy of all that belongs to a row: request state, rings, pages."""
        blocks, found = self.sizes.blocks, []
        for field in vars(self.state).values():
            found.append(field[row].clone())
        for tensor in self.caches.tensors():
            if tensor.shape[0] == self.sizes.capacity + 1:
                found.append(tensor[row].clone())
            else:
                found.append(tensor[row * blocks : (row + 1) * blocks].clone())
        return found
