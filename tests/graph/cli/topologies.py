"""Small files: a sound one, and one for each way in which a check can end."""

SOUND = """\
types:
  Inputs: {tokens: "int64[8]"}
buffers:
  inputs: {type: Inputs, slots: 2}
nodes:
  prepare: {kind: prepare, acquires: [inputs], writes: [inputs]}
  dispatch: {kind: dispatch, reads: [inputs]}
  release: {kind: release, releases: [inputs]}
edges:
  prepare -> dispatch: {carries: [inputs]}
  dispatch -> release: {carries: [inputs]}
lanes:
  host: [prepare]
  device: [dispatch, release]
"""

RACE = """\
types:
  Inputs: {tokens: "int64[8]"}
buffers:
  inputs: {type: Inputs, slots: 2}
nodes:
  prepare: {kind: prepare, acquires: [inputs], writes: [inputs]}
  dispatch: {kind: dispatch, reads: [inputs]}
  reclaim: {kind: reclaim, reads: [inputs], emits: results}
  release: {kind: release, releases: [inputs]}
edges:
  prepare -> dispatch: {carries: [inputs]}
  dispatch -> reclaim: {lends: [inputs]}
  dispatch -> release: {carries: [inputs]}
lanes:
  host: [prepare]
  device: [dispatch, release]
  output: [reclaim]
"""
"""LF205 alone: `reclaim` is lent `inputs`, and nothing makes `release` wait for it."""

TWO_FAULTS = RACE.replace("types:\n", "types:\n  Outputs: value\n").replace(
    "[inputs]}\n  dispatch ->", "[inputs], type: Outputs}\n  dispatch ->", 1
)
"""LF104 and LF205."""

IDLE_LIMIT = SOUND + "in_flight: 3\n"
"""LF303, a warning, alone: two slots allow two steps at most."""

PAGEABLE = SOUND.replace("[dispatch, release]", "{nodes: [dispatch, release], worker: stream}")
"""LF602, advice, alone."""

MISSPELT = SOUND.replace("slots: 2", "slot: 2")
"""LF002 in line 4."""

NOT_YAML = "nodes: [a, b\n"
"""LF001."""

BASE = "abstract: true\nsummary: a base\n" + SOUND.partition("lanes:")[0]
"""No lanes: only something to extend."""
