"""The DeepSeek-V4 network."""

from deepseek.model.network import Model

__all__ = ["Model"]
