"""Running a page's commands where its reader would: in a folder with the example topologies.

`python -m tests.docs.session [PAGE...]` writes into the pages what their commands print now.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.pages import DOCS, PAGES, ROOT, agrees, blocks, calls

WIDTH = 100
TIMEOUT_S = 120


class Session:
    """A folder with the examples, and a shell's place in it. `laneflow` and `python` are those of this interpreter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "examples"
        self.place = self.folder
        shutil.copytree(DOCS / "examples", self.folder)

    def run(self, command: str) -> tuple[int, str]:
        """Exit code, and what is printed on both streams, of a command; `cd` stays in effect."""
        if command.startswith("cd "):
            self.place = (self.place / command[3:]).resolve(strict=True)
            return 0, ""
        python = shlex.quote(sys.executable)
        names = f'set -o pipefail; laneflow() {{ {python} -m graph "$@"; }}; python() {{ {python} "$@"; }}; '
        return self._called(["bash", "-c", names + command])

    def program(self, text: str) -> tuple[int, str]:
        """Exit code and output of a Python program, warnings being errors."""
        return self._called([sys.executable, "-W", "error", "-c", text])

    def _called(self, words: Sequence[str]) -> tuple[int, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
        environment = {
            **kept,
            "COLUMNS": str(WIDTH),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "PYTHONPATH": str(ROOT),
        }
        done = subprocess.run(
            words,
            cwd=self.place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return done.returncode, done.stdout


def renewed(page: str, session: Session) -> str:
    """The page with each output that no longer agrees replaced by what is printed now; recorded ones all anew."""
    pieces, end = [], 0
    for block in blocks(page):
        if not block.info.startswith("console"):
            continue
        pieces.append(page[end : block.start])
        for call in calls(block.body):
            _, printed = session.run(call.command)
            stays = block.info == "console" and agrees(call.printed, printed)
            pieces.append(f"$ {call.command}\n{call.printed if stays else printed}")
        end = block.end
    return "".join([*pieces, page[end:]])


def main(names: Sequence[str]) -> None:
    for page in map(Path, names or map(str, PAGES)):
        with TemporaryDirectory() as folder:
            text = page.read_text("utf-8")
            page.write_text(renewed(text, Session(Path(folder))), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
