"""The fenced blocks of the documentation's pages, by what stands behind their three backquotes.

- `console`: a session. Each line that begins with `$ ` is run by a shell, and the lines below are what it prints. A
  line of `...` stands for lines that are left out.
- `console recorded`: the same, of which only the exit codes are compared: what is printed has measured times in it.
- `yaml FILE`, `python FILE`: a part of that file. `python` alone: the page's program, all such blocks in turn.
- `sh`: commands that are not run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r'!\[[^\]]+\]\((?P<file>[^)" ]+)(?: "(?P<command>[^"]+)")?\)')
LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?P<target>[^) ]+)\)")
KINDS = re.compile(r"console( recorded)?|(yaml|python) \S+|python|sh|text")


@dataclass(frozen=True)
class Block:
    """A fenced block; `start` and `end` are where its body lies in the page."""

    info: str
    body: str
    start: int
    end: int

    @property
    def file(self) -> str | None:
        """The file that the block is a part of, if any."""
        language, _, name = self.info.partition(" ")
        return name if name and language in ("yaml", "python") else None


@dataclass(frozen=True)
class Call:
    """A command of a session and what the page says that it prints."""

    command: str
    printed: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [Block(m["info"].strip(), m["body"], m.start("body"), m.end("body")) for m in FENCE.finditer(page)]


def calls(session: str) -> list[Call]:
    """The commands of a console block; raises `ValueError` for output before the first of them."""
    first, *rest = re.split(r"^\$ ", session, flags=re.MULTILINE)
    if first:
        raise ValueError(f"a session begins with a command, not with {first!r}")
    return [Call(command, printed) for command, _, printed in (part.partition("\n") for part in rest)]


def agrees(expected: str, printed: str) -> bool:
    """Whether the output is what the page shows, lines of `...` standing for any number of lines."""
    parts = re.split(r"^ *\.\.\.\n", expected, flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*?".join(map(re.escape, parts)), printed) is not None
