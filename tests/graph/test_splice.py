"""A mend in the file's text touches its own lines and nothing else."""

from __future__ import annotations

import difflib
import random
import re
from pathlib import Path

import pytest
import yaml

from graph.diagnostics import TopologyError
from graph.edits import Edit, Remove, Rename, Set, edited, plain
from graph.mend import mended
from graph.reading import load, load_text
from graph.splice import SpliceError, diff, splice
from graph.validate import faults
from tests.graph.headers import CASES
from tests.graph.mutations import faulty

RING = """\
topology: ring   # the name
types: {T: {x: "int64[4]"}}
buffers:
  # one for each step in flight
  inputs: {type: T, slots: 2}   # double buffering
  outputs:
    type: T
    slots: 2   # as many
nodes:
  prepare: {kind: prepare, acquires: [inputs], writes: [inputs]}
  dispatch:
    kind: dispatch
    acquires: [outputs]
    reads:
      - inputs   # all of it
    writes: [outputs]
  release: {kind: release, releases: [inputs, outputs]}

edges:
  prepare -> dispatch: {carries: [inputs]}
  dispatch->release: {carries: [inputs, outputs]}
lanes:
  host: [prepare]   # short form
  device: {nodes: [dispatch], worker: stream}
  output:
    nodes:
      - release
# the end
"""


def changed(text: str, *edits: Edit) -> list[str]:
    """The lines that go and come when `edits` are spliced into `text`."""
    new = splice(text, "ring.yaml", edits)
    lines = difflib.unified_diff(text.splitlines(), new.splitlines(), lineterm="", n=0)
    return [line for line in lines if line[0] in "+-" and not line.startswith(("---", "+++"))]


CHANGES: dict[str, tuple[Edit, list[str]]] = {
    "a value in flow style": (
        Set(("buffers", "inputs", "slots"), 3),
        [
            "-  inputs: {type: T, slots: 2}   # double buffering",
            "+  inputs: {type: T, slots: 3}   # double buffering",
        ],
    ),
    "a value in block style": (
        Set(("buffers", "outputs", "slots"), 3),
        ["-    slots: 2   # as many", "+    slots: 3   # as many"],
    ),
    "a new key in flow style": (
        Set(("buffers", "inputs", "place"), "pinned"),
        [
            "-  inputs: {type: T, slots: 2}   # double buffering",
            "+  inputs: {type: T, slots: 2, place: pinned}   # double buffering",
        ],
    ),
    "a new key in block style": (Set(("buffers", "outputs", "place"), "pinned"), ["+    place: pinned"]),
    "a new edge": (Set(("edges", "release@1 -> prepare"), {}), ["+  release@1 -> prepare: {}"]),
    "a new section": (Set(("in_flight",), 2), ["+in_flight: 2"]),
    "a new section with an entry": (
        Set(("routes", "all"), ["prepare", "dispatch", "release"]),
        ["+routes:", "+  all: [prepare, dispatch, release]"],
    ),
    "an element of a list in flow style": (
        Set(("nodes", "dispatch", "acquires"), ["outputs", "inputs"]),
        ["-    acquires: [outputs]", "+    acquires: [outputs, inputs]"],
    ),
    "an element of a list in block style": (
        Set(("nodes", "dispatch", "reads"), ["inputs", "outputs@1"]),
        ["+      - outputs@1"],
    ),
    "a lane in its short form": (
        Set(("lanes", "host", "nodes"), ["prepare@1"]),
        ["-  host: [prepare]   # short form", "+  host: [prepare@1]   # short form"],
    ),
    "a lane in its long form": (
        Set(("lanes", "device", "nodes"), ["dispatch", "release"]),
        [
            "-  device: {nodes: [dispatch], worker: stream}",
            "+  device: {nodes: [dispatch, release], worker: stream}",
        ],
    ),
    "an edge spelt without spaces": (
        Set(("edges", "dispatch -> release", "lends"), ["inputs"]),
        [
            "-  dispatch->release: {carries: [inputs, outputs]}",
            "+  dispatch->release: {carries: [inputs, outputs], lends: [inputs]}",
        ],
    ),
    "another key": (
        Rename(("edges", "prepare -> dispatch"), "prepare@1 -> dispatch"),
        ["-  prepare -> dispatch: {carries: [inputs]}", "+  prepare@1 -> dispatch: {carries: [inputs]}"],
    ),
    "an entry gone in block style": (
        Remove(("buffers", "outputs", "slots")),
        ["-    slots: 2   # as many"],
    ),
    "an entry gone in flow style": (
        Remove(("lanes", "device", "worker")),
        ["-  device: {nodes: [dispatch], worker: stream}", "+  device: {nodes: [dispatch]}"],
    ),
}


@pytest.mark.parametrize(("edit", "lines"), CHANGES.values(), ids=CHANGES)
def test_only_the_lines_concerned_change(edit: Edit, lines: list[str]) -> None:
    assert changed(RING, edit) == lines


def test_several_edits_are_made_in_order() -> None:
    edits = (Set(("edges", "release@1 -> prepare"), {}), Remove(("edges", "prepare -> dispatch")))
    assert changed(RING, *edits) == [
        "-  prepare -> dispatch: {carries: [inputs]}",
        "+  release@1 -> prepare: {}",
    ]


def test_the_last_entry_gone_leaves_an_empty_mapping() -> None:
    text = RING.replace("  prepare -> dispatch: {carries: [inputs]}\n", "")
    assert changed(text, Remove(("edges", "dispatch -> release"))) == [
        "-edges:",
        "-  dispatch->release: {carries: [inputs, outputs]}",
        "+edges: {}",
    ]


def test_line_ends_stay_as_they_are() -> None:
    new = splice(RING.replace("\n", "\r\n"), "ring.yaml", [Set(("edges", "release@1 -> prepare"), {})])
    assert new.count("\n") == new.count("\r\n")


def test_text_beyond_ascii_does_not_shift_the_place() -> None:
    text = RING.replace("# the name", "# l’été, 名前 🙂")
    assert changed(text, Set(("buffers", "outputs", "slots"), 3))[1] == "+    slots: 3   # as many"


VARIANT = """\
extends: ring
lanes:
  host: [prepare]
edges:
  release@1 -> prepare: {}   # keeps the steps apart
"""


@pytest.fixture
def variant(tmp_path: Path) -> str:
    (tmp_path / "ring.yaml").write_text(RING)
    return str(tmp_path / "variant.yaml")


def test_what_is_inherited_is_overridden_and_the_base_left_alone(variant: str) -> None:
    new = splice(VARIANT, variant, [Set(("buffers", "inputs", "slots"), 3)])
    assert new == VARIANT + "buffers:\n  inputs: {slots: 3}\n"


def test_what_is_inherited_is_taken_away_by_null(variant: str) -> None:
    new = splice(VARIANT, variant, [Remove(("edges", "dispatch -> release"))])
    assert new == VARIANT + "  dispatch -> release: null\n"


def test_an_inherited_edge_gets_another_key_by_override(variant: str) -> None:
    new = splice(VARIANT, variant, [Rename(("edges", "prepare -> dispatch"), "prepare@1 -> dispatch")])
    assert new == VARIANT + "  prepare -> dispatch: null\n  prepare@1 -> dispatch: {carries: [inputs]}\n"


def test_what_the_file_itself_says_is_changed_in_place(variant: str) -> None:
    new = splice(VARIANT, variant, [Set(("lanes", "host", "nodes"), ["prepare@1"])])
    assert new == VARIANT.replace("[prepare]", "[prepare@1]")


def test_a_place_shared_by_an_alias_is_refused() -> None:
    text = RING.replace("inputs: {type: T, slots: 2}", "inputs: &both {type: T, slots: 2}").replace(
        "outputs:\n    type: T\n    slots: 2   # as many", "outputs: *both"
    )
    with pytest.raises(SpliceError, match="alias"):
        splice(text, "ring.yaml", [Set(("buffers", "outputs", "slots"), 3)])


def test_a_place_hidden_by_an_override_is_refused() -> None:
    with pytest.raises(SpliceError, match="would not read as the mended topology"):
        splice(RING, "ring.yaml", [Set(("buffers", "inputs", "slots"), 3)], ["buffers.inputs.slots=1"])


def test_edits_of_another_file_are_refused() -> None:
    with pytest.raises(SpliceError, match="do not fit the file"):
        splice(RING, "ring.yaml", [Remove(("edges", "a -> b"))])


def test_the_diff_is_unified() -> None:
    new = splice(RING, "ring.yaml", [Set(("buffers", "inputs", "slots"), 3)])
    lines = diff(RING, new, "ring.yaml").splitlines()
    assert lines[:3] == ["--- a/ring.yaml", "+++ b/ring.yaml", "@@ -2,7 +2,7 @@"]
    assert diff(RING, RING, "ring.yaml") == ""


def faulty_files() -> list[Path]:
    def mendable(path: Path) -> bool:
        try:
            return bool(mended(load(path))[1])
        except TopologyError:
            return False

    return [path for path in sorted(CASES.glob("*.fault.yaml")) if mendable(path)]


@pytest.mark.parametrize("path", faulty_files(), ids=lambda path: path.stem)
def test_the_mends_of_a_case_are_made_in_its_text(path: Path) -> None:
    fixed, steps = mended(load(path))
    text = path.read_text()
    new = splice(text, str(path), [edit for step in steps for edit in step.edits])
    assert faults(load_text(new, str(path))) == faults(fixed)
    assert [line for line in new.splitlines() if line.startswith("#")] == [
        line for line in text.splitlines() if line.startswith("#")
    ]


@pytest.mark.parametrize("seed", range(30, 33))
def test_random_mends_are_made_in_any_style_and_keep_every_other_comment(seed: int) -> None:
    draw = random.Random(seed)
    made = 0
    for topology in faulty(seed, 40):
        text = commented(
            draw,
            yaml.safe_dump(
                plain(topology), sort_keys=False, default_flow_style=draw.choice((None, False)), width=100
            ),
        )
        _, steps = mended(topology)
        new = splice(text, "random.yaml", [edit for step in steps for edit in step.edits])
        old_lines, new_lines = text.splitlines(), new.splitlines()
        gone = [line[2:] for line in difflib.ndiff(old_lines, new_lines) if line.startswith("- ")]
        lost = set(re.findall(r"# \d+", text)) - set(re.findall(r"# \d+", new))
        assert lost <= set(re.findall(r"# \d+", "\n".join(gone)))
        meant = topology
        for step in steps:
            meant = edited(meant, step.edits)
        assert load_text(new, "random.yaml").model_dump() == meant.model_dump()
        made += bool(steps)
    assert made >= 30


def commented(draw: random.Random, text: str) -> str:
    """Every line with a comment of its own, or none."""
    lines = [
        f"{line}  # {place}" if draw.random() < 0.5 else line for place, line in enumerate(text.splitlines())
    ]
    return "\n".join(lines) + "\n"
