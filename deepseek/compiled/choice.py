"""Which way the decode step runs, and why."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal

from rich.console import Console

from deepseek.compiled import cache
from deepseek.compiled.compiling import CompileError, compile_step
from deepseek.compiled.library import Library, LibraryError
from deepseek.compiled.shape import StepShape

log = logging.getLogger("laneflow")

Way = Literal["cached", "compile", "eager"]
"""`cached` takes a compiled step that is there already, `compile` makes it where it is missing."""


@dataclass(frozen=True)
class Choice:
    """A compiled step and its shape, or the reason why there is none."""

    step: tuple[Library, StepShape] | None
    reason: str = ""
    wanted: bool = True
    """Whether a compiled step was asked for, so that an eager one is a fallback."""

    @property
    def fell_back(self) -> bool:
        return self.wanted and self.step is None

    def __str__(self) -> str:
        return "compiled" if self.step else f"eager ({self.reason})"


def choose(shape: StepShape, device: str, way: Way, console: Console | None = None) -> Choice:
    """The compiled step for a shape, made or found in the cache; else the eager way, which is logged."""
    if way == "eager":
        return Choice(None, "as asked", wanted=False)
    if device != "cpu" or shape.dtype != "float32":
        what = f"on {device}" if device != "cpu" else f"in {shape.dtype}"
        choice = Choice(None, f"steps {what} are not compiled", wanted=way == "compile")
    else:
        choice = _compiled(shape, way, console)
    if choice.fell_back:
        log.warning("the decode step runs eager: %s", choice.reason)
    return choice


def _compiled(shape: StepShape, way: Way, console: Console | None) -> Choice:
    try:
        path = cache.find(cache.key(shape))
        if path is None:
            if way == "cached":
                return Choice(None, "not compiled yet for these sizes; --compile does it, once")
            path = compile_step(shape, console)
        return Choice((Library(path), shape))
    except CompileError as error:
        return Choice(None, f"it could not be compiled: {error}")
    except LibraryError as error:
        return Choice(None, str(error))
