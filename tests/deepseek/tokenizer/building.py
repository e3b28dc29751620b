"""Small tokenizers of the kinds that checkpoints bring, built by the library that reads them."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

BOS, EOS, THINK = "<|begin|>", "<|end|>", "<think>"
LINES = ["hello world, hello words", "naïve café – 你好 😀😀", "the end of the world"]


def byte_level_bpe(*, prepends_bos: bool = False) -> Tokenizer:
    """Trained on a few lines; ids 0 and 1 are special, `<think>` is an added token that leaves text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        show_progress=False,
        special_tokens=[BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    with (
        pytest.MonkeyPatch.context() as patch
    ):  # no threads in the library, so that tests may fork afterwards
        patch.setenv("TOKENIZERS_PARALLELISM", "false")
        tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.add_tokens([THINK])
    if prepends_bos:
        tokenizer.post_processor = processors.TemplateProcessing(f"{BOS} $A", special_tokens=[(BOS, 0)])
    return tokenizer


def word_level(tokens: list[str], decoder: decoders.Decoder | None) -> Tokenizer:
    """A vocabulary of exactly these tokens, the first for unknown words; ids count from 0."""
    tokenizer = Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token=tokens[0]))
    if decoder is not None:
        tokenizer.decoder = decoder
    return tokenizer


def save(tokenizer: Tokenizer, directory: Path) -> Path:
    """The folder, with the tokenizer's tokenizer.json in it."""
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory
