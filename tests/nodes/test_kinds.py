"""The base classes: one for each kind, abstract in `run`."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import nodes
from graph.node import Context, Node
from graph.topology import Kind

BASES = [getattr(nodes, name) for name in nodes.__all__]


def test_there_is_one_base_for_each_kind() -> None:
    assert {base.kind for base in BASES} == set(get_args(Kind))


@pytest.mark.parametrize("base", [base for base in BASES if base is not nodes.ReleaseNode])
def test_a_node_must_define_run(base: type[Any]) -> None:
    with pytest.raises(TypeError, match="run"):
        base()


@pytest.mark.parametrize("base", BASES)
def test_a_subclass_with_run_is_a_node(base: type[Any]) -> None:
    made = type("Mine", (base,), {"run": lambda self, step, slots: None})()
    assert isinstance(made, Node)
    assert made.ports is None
    made.start(Context("mine", {}, (), "cpu", {}))
    made.stop()


def test_release_has_nothing_to_do_by_default() -> None:
    nodes.ReleaseNode().run(None, None)
