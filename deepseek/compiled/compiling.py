"""Compiles a step in a process of its own and publishes it, showing how far it is."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

import deepseek
from deepseek.compiled import cache
from deepseek.compiled.shape import StepShape

log = logging.getLogger("laneflow")


class CompileError(Exception):
    """The step could not be compiled; says why in one line."""


def compile_step(shape: StepShape, console: Console | None = None) -> Path:
    """Compile, publish and return the file. Takes a minute or more, shown on `console` if it is a terminal.

    Raises `CompileError`. Interrupted, it leaves nothing behind.
    """
    folder = cache.directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=folder) as scratch:
            built = Path(scratch) / "step.so"
            _build(shape, built, console)
            return cache.publish(cache.key(shape), built)
    except OSError as error:
        raise CompileError(f"the cache {folder} cannot be written: {error}") from error


def _build(shape: StepShape, built: Path, console: Console | None) -> None:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    shown = console is not None and console.is_terminal
    if not shown:
        log.warning("compiling the decode step (%s): a minute or more, once", shape)
    problems = built.with_name("problems")
    with (
        problems.open("w", encoding="utf-8") as stderr,
        _process(built, stderr.fileno()) as process,
        Progress(*columns, console=console, disable=not shown, transient=True) as progress,
    ):
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):  # its own message says more
                process.stdin.write(shape.to_json())
                process.stdin.close()
            task = progress.add_task("starting the compiler", total=None)
            for line in process.stdout:
                progress.update(task, description=f"{line.strip()}: a minute or more, once")
            code = process.wait()
        finally:
            _end(process)
    if code != 0 or not built.exists():
        lines = problems.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise CompileError(lines[-1] if lines else f"the compiler ended with code {code}")


def _process(built: Path, stderr: int) -> subprocess.Popen[str]:
    root = str(Path(deepseek.__file__).parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    own = {
        "PYTHONPATH": path,
        "TORCHINDUCTOR_CACHE_DIR": str(built.with_name("inductor")),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "deepseek.compiled.build", str(built)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, **own},
        start_new_session=True,  # so that the C++ compiler ends with it
    )


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
