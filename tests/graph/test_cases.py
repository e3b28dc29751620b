from __future__ import annotations

from pathlib import Path

import pytest

from graph.diagnostics import Diagnostic, TopologyError
from graph.reading import load
from graph.validate import diagnose
from tests.graph.headers import CASES, expectations, mismatch

FILES = sorted(CASES.glob("*.yaml"))


def verdict(path: Path) -> list[Diagnostic]:
    try:
        return diagnose(load(path))
    except TopologyError as error:
        return list(error.diagnostics)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case_gets_exactly_the_verdict_in_its_header(path: Path) -> None:
    expected = expectations(path.read_text())
    assert mismatch(expected or [], verdict(path)) == ""
