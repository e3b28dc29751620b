"""Writing to the two streams of a command: results on stdout, what went wrong on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class OutputError(Exception):
    """A stream of the command takes no more, for instance because the disk is full; the message says why."""


def out(text: str) -> None:
    """A result."""
    with writing("output"):
        sys.stdout.write(f"{text}\n")


def err(text: str) -> None:
    """Something for a person to read beside the result."""
    if sys.stderr is not None:  # closed: then nobody is to be told
        with writing("error"):
            sys.stderr.write(f"{text}\n")


def flush() -> None:
    """Write out what is left of the results."""
    with writing("output"):
        sys.stdout.flush()


@contextmanager
def writing(stream: str) -> Iterator[None]:
    """Around writing to standard `stream`: `OutputError` for what the system refuses; that a reader has gone stays a
    `BrokenPipeError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard {stream} cannot be written: {error.strerror or error}") from error


def coloured(stream: TextIO) -> bool:
    """Whether the stream is a terminal that can show colour, and the user has not said no (NO_COLOR)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
