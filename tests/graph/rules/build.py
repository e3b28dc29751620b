"""A small sound topology to break: prepare, dispatch and release with one buffer on three lanes."""

from __future__ import annotations

from typing import Any

from graph.diagnostics import Diagnostic
from graph.reading import load_text
from graph.topology import Topology
from graph.validate import diagnose

SOUND = """\
topology: small
types:
  Inputs: {tokens: "int64[4]", generation: "int32[4]"}
buffers:
  inputs: {type: Inputs, slots: 2, place: pinned}
nodes:
  prepare: {kind: prepare, acquires: [inputs], writes: [inputs]}
  dispatch: {kind: dispatch, reads: [inputs]}
  release: {kind: release, releases: [inputs]}
edges:
  prepare -> dispatch: {carries: [inputs]}
  dispatch -> release: {carries: [inputs]}
lanes:
  host: [prepare]
  device: [dispatch]
  output: [release]
"""


def small(*overrides: str) -> Topology:
    """The sound one with `key=value` changes."""
    return load_text(SOUND, "small.yaml", overrides)


def made(**parts: Any) -> Topology:
    """A topology from its parts, without places in a file."""
    return Topology.model_validate(parts)


def codes(topology: Topology) -> list[str]:
    return sorted(one.code for one in diagnose(topology))


def only(topology: Topology) -> Diagnostic:
    (one,) = diagnose(topology)
    return one
