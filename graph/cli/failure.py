"""How an exception that nothing foresaw is told: one line, no traceback, and that it is our fault."""

from __future__ import annotations

import traceback
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def internal_error(error: BaseException) -> str:
    """What to tell a user about an exception that nothing foresaw."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(Path(__file__).parents[1])]
    place = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno} in {ours[-1].name}" if ours else ""
    text = " ".join(str(error).split())[:200]
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"internal error{place}: {what}. This is a bug in laneflow: please report it with the input"
