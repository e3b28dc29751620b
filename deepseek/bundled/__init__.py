"""A small trained checkpoint that travels with the package; `python -m deepseek.bundled.train` makes one like it."""

from pathlib import Path

PATH = Path(__file__).parent
"""The checkpoint's directory."""
