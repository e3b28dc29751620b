"""The executor that a user names as `package.module:pipeline`."""

from __future__ import annotations

import sys
from pathlib import Path

from graph.bind import load_executor
from graph.cli.command import UsageError
from graph.node import Executor


def named_executor(reference: str) -> Executor:
    """What the callable returns; raises `UsageError` where it cannot be had. This runs the user's own code.

    The working directory is searched as well, last: the module beside the user is found, and no stray file
    there takes the place of an installed one.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return load_executor(reference)
    except Exception as error:  # a BindError, or whatever the user's code raises
        raise UsageError(f"--bind {reference}: {type(error).__name__}: {error}") from error
