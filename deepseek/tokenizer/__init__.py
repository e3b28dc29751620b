"""Text to token ids and back: a checkpoint's own tokenizer.json, or plain bytes as the bundled checkpoint uses."""

from deepseek.tokenizer.base import TextStream, Tokenizer, TokenizerError
from deepseek.tokenizer.byte import ByteStream, ByteTokenizer
from deepseek.tokenizer.json_tokenizer import JsonTokenizer
from deepseek.tokenizer.load import load_tokenizer
from deepseek.tokenizer.window import WindowStream

__all__ = [
    "ByteStream",
    "ByteTokenizer",
    "JsonTokenizer",
    "TextStream",
    "Tokenizer",
    "TokenizerError",
    "WindowStream",
    "load_tokenizer",
]
