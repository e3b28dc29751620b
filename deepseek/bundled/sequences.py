"""Documents as the sequences of tokens that a model is trained on."""

from collections.abc import Sequence

import torch
from torch import Tensor

from deepseek.config import ModelConfig
from deepseek.tokenizer import ByteTokenizer


class Text:
    """Documents one after another, each closed by end-of-sequence."""

    def __init__(self, documents: Sequence[str], config: ModelConfig) -> None:
        tokenizer, end = ByteTokenizer(), config.eos_token_ids[0]
        self._bos = config.bos_token_id
        self._tokens = torch.tensor([t for text in documents for t in (*tokenizer.encode(text)[1:], end)])

    def draw(self, count: int, length: int, random: torch.Generator) -> Tensor:
        """Random stretches of the text behind a beginning-of-sequence each, as prompts are: `[count, length + 1]`."""
        first = torch.randint(len(self._tokens) - length, (count, 1), generator=random)
        stretches = self._tokens[first + torch.arange(length)]
        return torch.cat((torch.full_like(first, self._bos), stretches), 1)
