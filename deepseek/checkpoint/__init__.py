"""Reading DeepSeek-V4 checkpoints in the Hugging Face layout, under released or transformers' names."""

from deepseek.checkpoint.config_json import read_config
from deepseek.checkpoint.errors import CheckpointError
from deepseek.checkpoint.load import has_prediction, load_model
from deepseek.checkpoint.memory import MemoryNeeds, available_memory, check_memory, memory_needs

__all__ = [
    "CheckpointError",
    "MemoryNeeds",
    "available_memory",
    "check_memory",
    "has_prediction",
    "load_model",
    "memory_needs",
    "read_config",
]
