"""What the documentation shows is what happens: outputs, pictures, files, programs, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from graph import load_text
from graph.rules.catalogue import catalogue
from graph.topology import KINDS, Buffer, Edge, Lane, Node, Topology
from graph.validate import diagnose
from tests.docs.pages import DOCS, LINK, PAGES, PICTURE, agrees, blocks, calls
from tests.docs.pages import KINDS as BLOCKS
from tests.docs.session import Session, renewed

on_every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@on_every_page
def test_what_a_page_shows_is_what_is_printed(page: Path, tmp_path: Path) -> None:
    """Then, in the same folder: its pictures are current, it quotes its files, and its program runs."""
    text, session = page.read_text("utf-8"), Session(tmp_path)
    for block in blocks(text):
        if block.info.startswith("console"):
            _check_session(block.body, block.info == "console recorded", session)
    for picture in PICTURE.finditer(text):
        _check_picture(picture["file"], picture["command"], session)
    for block in blocks(text):
        if block.file is not None:
            quoted = (session.place / block.file).read_text("utf-8")
            assert block.body in quoted, f"{block.file} has no such part:\n{block.body}"
    program = "\n".join(block.body for block in blocks(text) if block.info == "python")
    if program:
        code, printed = session.program(program)
        assert code == 0, printed


def _check_session(body: str, recorded: bool, session: Session) -> None:
    for call in calls(body):
        code, printed = session.run(call.command)
        if recorded:
            assert code == 0, f"$ {call.command}\n{printed}"
        else:
            assert agrees(call.printed, printed), f"$ {call.command}\nprints now:\n{printed}"


def _check_picture(file: str, command: str | None, session: Session) -> None:
    """A picture has the command that draws it as its title; one of a measurement is not the same twice."""
    assert command is not None, f"{file} has no title that says what draws it"
    if command.startswith("python -m benchmarks."):
        assert find_spec(command.split()[2]) is not None, command
        assert "<svg" in (DOCS / file).read_text("utf-8")
        return
    assert command.startswith("laneflow show "), command
    code, printed = session.run(f"{command} --check {DOCS / file}")
    assert code == 0, printed


@on_every_page
def test_every_block_is_of_a_known_kind(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.count("```") == 2 * len(blocks(text)), "a fence is not closed"
    assert [block.info for block in blocks(text) if not BLOCKS.fullmatch(block.info)] == []


@on_every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = [target for target in _targets(page) if not _exists(page, target)]
    assert dead == []


def _targets(page: Path) -> Iterator[str]:
    text = page.read_text("utf-8")
    yield from (match["target"] for match in LINK.finditer(text) if "://" not in match["target"])
    yield from (match["file"] for match in PICTURE.finditer(text))


def _exists(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    file = page.parent / name if name else page
    return file.exists() and (not anchor or anchor in _anchors(file.read_text("utf-8")))


def _anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_the_index_names_every_page() -> None:
    index = DOCS / "README.md"
    assert {page.name for page in PAGES} - {index.name} <= set(_targets(index))


def test_every_example_is_used() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    unused = [file.name for file in (DOCS / "examples").iterdir() if file.name not in text]
    assert unused == []


def test_an_output_may_leave_lines_out() -> None:
    assert agrees("a\n...\nd\n", "a\nb\nc\nd\n")
    assert agrees("...\n", "")
    assert not agrees("a\n...\nd\n", "a\nb\n")
    assert not agrees("a\n", "a\nb\n")
    assert not agrees("a.c\n", "abc\n")


def test_a_stale_output_is_written_anew_and_a_current_one_stays(tmp_path: Path) -> None:
    page = "Text.\n\n```console\n$ echo a; echo b\n...\nb\n$ echo c\nold\n```\n"
    assert renewed(page, Session(tmp_path)) == page.replace("old", "c")


LANGUAGE = (DOCS / "language.md").read_text("utf-8")


@pytest.mark.parametrize("model", [Topology, Buffer, Node, Edge, Lane], ids=lambda model: model.__name__)
def test_the_reference_has_a_row_for_every_key(model: type[Topology]) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", LANGUAGE, re.MULTILINE)
    assert [name for name in model.model_fields if name not in rows] == []


def test_the_reference_names_every_code() -> None:
    assert [code for code in catalogue() if code not in LANGUAGE] == []


ACTIONS = {
    "acquires": "acquires: [hosted]",
    "releases": "releases: [hosted]",
    "writes host memory": "writes: [hosted]",
    "writes device memory": "writes: [placed]",
    "writes request rows on the device": "writes: [rows]",
    "emits": "emits: results",
}
ONE_NODE = """\
types: {{T: {{x: "int64[8]", generation: "int32[8]"}}}}
buffers:
  hosted: {{type: T}}
  placed: {{type: T, place: device}}
  rows: {{type: T, persistent: true, keyed_by: request, place: device}}
nodes:
  node: {{kind: {kind}, {action}}}
lanes:
  lane: [node]
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", ACTIONS)
def test_the_table_of_kinds_is_what_the_validator_allows(kind: str, action: str) -> None:
    header, _, *rows = re.findall(r"^\|.*\|$", LANGUAGE.partition("## Kinds")[2], re.MULTILINE)
    columns = [cell.strip() for cell in header.strip("|").split("|")]
    table = {row.strip("|").split("|")[0].strip(" `"): row.strip("|").split("|") for row in rows}
    allowed = table[kind][columns.index(action)].strip() == "yes"
    faults = diagnose(load_text(ONE_NODE.format(kind=kind, action=ACTIONS[action])))
    assert allowed == ("LF103" not in {fault.code for fault in faults})
