from __future__ import annotations

from pathlib import Path

import pytest

from graph.diagnostics import Diagnostic, TopologyError
from graph.reading import load
from graph.validate import diagnose, validate
from tests.graph.headers import CASES, expectations, mismatch

FILES = sorted(CASES.glob("*.yaml"))


def diagnostics(path: Path) -> list[Diagnostic]:
    try:
        return diagnose(load(path))
    except TopologyError as error:
        return list(error.diagnostics)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case_gets_exactly_the_verdict_in_its_header(path: Path) -> None:
    expected = expectations(path.read_text())
    assert mismatch(expected or [], diagnostics(path)) == ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_diagnostic_of_a_case_says_where_and_what_to_do(path: Path) -> None:
    for one in diagnostics(path):
        assert one.location.file.endswith(".yaml")
        assert one.message
        assert one.help


def test_every_case_but_a_base_has_a_verdict() -> None:
    assert [path.stem for path in FILES if expectations(path.read_text()) is None] == ["ring_base"]


def test_a_fault_is_never_validated() -> None:
    path = CASES / "early_release_under_reclaim.fault.yaml"
    with pytest.raises(
        TopologyError, match=r"LF205 `reclaim` of step 0 still reads `inputs` slot 0"
    ) as caught:
        validate(load(path))
    (one,) = caught.value.diagnostics
    assert (one.location.line, one.nodes, one.buffer) == (21, ("reclaim", "free_inputs"), "inputs")


def test_a_sound_case_is() -> None:
    proof = validate(load(CASES / "two_staging_slots.sound.yaml"))
    assert proof.graph.before("sample", "send")
    assert proof.warnings == ()
