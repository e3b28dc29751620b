"""What a trained model does with text that was kept out of its training."""

from typing import Any

import torch

from deepseek.bundled.acceptance import measure
from deepseek.bundled.objective import losses
from deepseek.bundled.sequences import Text
from deepseek.model import Model
from deepseek.tokenizer import ByteTokenizer

PROMPT, CONTINUATION = 48, 128
"""Tokens of the prompts, beginning-of-sequence among them, and of their greedy continuations."""
SEQUENCES, LENGTH = 64, 192
"""Sequences to take the losses of, and their tokens."""
GRAM = 8
SAMPLES = 5


def figures(model: Model, documents: tuple[str, ...]) -> dict[str, Any]:
    """Losses on the text, and what greedy decoding with one draft makes of the beginnings of its documents."""
    random = torch.Generator().manual_seed(0)
    with torch.inference_mode():
        found = losses(model, Text(documents, model.config).draw(SEQUENCES, LENGTH, random))
    encoded = [ByteTokenizer().encode(text)[:PROMPT] for text in documents]
    prompts = [prompt for prompt in encoded if len(prompt) == PROMPT]
    greedy = measure(model, prompts, CONTINUATION)
    decode = ByteTokenizer().decode
    return {
        "teacher_forced": found.figures(),
        "prompts": len(prompts),
        "prompt_tokens": PROMPT,
        "continuation_tokens": CONTINUATION,
        "drafts": greedy.drafts,
        "accepted": greedy.accepted,
        "acceptance": round(greedy.acceptance, 4),
        "distinct_tokens": round(greedy.distinct(1), 4),
        f"distinct_{GRAM}_grams": round(greedy.distinct(GRAM), 4),
        "samples": [
            {"prompt": decode(prompt), "continuation": decode(tokens)}
            for prompt, tokens in zip(prompts[:SAMPLES], greedy.continuations, strict=False)
        ],
    }
