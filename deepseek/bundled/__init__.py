"""A small random checkpoint that travels with the package; `python -m deepseek.bundled.make` writes it."""

from pathlib import Path

PATH = Path(__file__).parent
"""The checkpoint's directory."""
