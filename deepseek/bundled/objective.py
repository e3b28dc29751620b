"""What the model is trained for: the next byte, and drafts of the one after it that the model itself agrees with."""

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from deepseek.bundled.passes import logits_of_both
from deepseek.model import Model


@dataclass(frozen=True)
class Losses:
    """Means over the positions of a batch."""

    following: Tensor
    """Cross entropy of the next token, in nats."""
    draft: Tensor
    """Cross entropy of the draft against the main model's distribution of the same token, in nats."""
    agreement: Tensor
    """Share of positions where both hold the same token likeliest."""

    def figures(self) -> dict[str, float]:
        """The numbers, by name."""
        return {name: round(value.item(), 4) for name, value in vars(self).items()}


def losses(model: Model, ids: Tensor) -> Losses:
    """Losses of sequences `[B, R + 1]`.

    The draft learns from the main model, which judges it when decoding, rather than from the text; through the
    streams that it reads its gradient reaches the main model's layers, too.
    """
    main, predicted = logits_of_both(model, ids)
    judge, draft = main[:, 1:].detach(), predicted[:, :-1]
    following = F.cross_entropy(main.flatten(0, 1), ids[:, 1:].flatten())
    drafted = F.cross_entropy(draft.flatten(0, 1), judge.softmax(-1).flatten(0, 1))
    return Losses(following, drafted, (draft.argmax(-1) == judge.argmax(-1)).float().mean())
