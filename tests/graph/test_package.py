"""What the package offers is what it says, whichever module was imported first."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import graph


@pytest.mark.parametrize("name", graph.__all__)
def test_every_name_is_what_its_module_defines(name: str) -> None:
    """`graph.validate` and `graph.bind` used to turn into the modules once those had been imported."""
    assert not isinstance(getattr(graph, name), ModuleType)
    assert getattr(graph, name).__name__ == name


@pytest.mark.parametrize("first", ["graph.validate", "graph.bind", "graph.runtime"])
def test_the_order_of_imports_does_not_matter(first: str) -> None:
    script = f"import {first}; from graph import bind, validate; assert callable(bind) and callable(validate)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_proving_does_without_torch() -> None:
    script = "import sys, graph; graph.validate(graph.load('pingpong')); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
