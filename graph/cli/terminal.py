"""Writing to the two streams of a command: results on stdout, what went wrong on stderr."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def out(text: str) -> None:
    """A result."""
    sys.stdout.write(f"{text}\n")


def err(text: str) -> None:
    """Something for a person to read beside the result."""
    sys.stderr.write(f"{text}\n")


def coloured(stream: TextIO) -> bool:
    """Whether the stream is a terminal that can show colour, and the user has not said no (NO_COLOR)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
