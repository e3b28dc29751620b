"""Trees of topologies, one over another: short forms written out, mappings merged, nulls taken out."""

from __future__ import annotations

from typing import Any

from graph import yaml_tree
from graph.diagnostics import Diagnostic, Location, TopologyError
from graph.topology import parse_edge
from graph.yaml_tree import Item, Scalar


def mapping(item: Item) -> yaml_tree.Mapping:
    if isinstance(item, yaml_tree.Mapping):
        return item
    raise TopologyError(
        [
            Diagnostic(
                item.at,
                "LF002",
                "a topology is a mapping with `nodes`, `edges` and `lanes`",
                "see `laneflow schema`",
            )
        ]
    )


def long_forms(tree: yaml_tree.Mapping) -> yaml_tree.Mapping:
    """Short forms written out and edge keys spelt one way, so that merging meets like with like."""
    items = dict(tree.items)
    keys = dict(tree.keys)
    lanes = items.get("lanes")
    if isinstance(lanes, yaml_tree.Mapping):
        items["lanes"] = yaml_tree.Mapping(
            {k: _long_lane(v) for k, v in lanes.items.items()}, lanes.keys, lanes.at
        )
    edges = items.get("edges")
    if isinstance(edges, yaml_tree.Mapping):
        items["edges"] = _spelt(edges)
    return yaml_tree.Mapping(items, keys, tree.at)


def _long_lane(item: Item) -> Item:
    if not isinstance(item, yaml_tree.Sequence):
        return item
    return yaml_tree.Mapping({"nodes": item}, {"nodes": item.at}, item.at)


def _spelt(edges: yaml_tree.Mapping) -> yaml_tree.Mapping:
    items: dict[str, Item] = {}
    keys: dict[str, Location] = {}
    for key, value in edges.items.items():
        try:
            name = str(parse_edge(key))
        except ValueError:
            name = key  # the models will say what is wrong with it
        if name in items:
            raise TopologyError(
                [
                    Diagnostic(
                        edges.keys[key], "LF002", f"edge `{name}` is given twice", "merge the two into one"
                    )
                ]
            )
        items[name] = value
        keys[name] = edges.keys[key]
    return yaml_tree.Mapping(items, keys, edges.at)


def merge(base: yaml_tree.Mapping, over: yaml_tree.Mapping) -> yaml_tree.Mapping:
    """Mappings merge, everything else replaces; an explicit null is kept until the end, where it removes."""
    items = dict(base.items)
    keys = dict(base.keys)
    for key, value in over.items.items():
        known = items.get(key)
        if isinstance(known, yaml_tree.Mapping) and isinstance(value, yaml_tree.Mapping):
            items[key] = merge(known, value)
        else:
            items[key] = value
            keys[key] = over.keys[key]
    return yaml_tree.Mapping(items, keys, base.at if not over.items else over.at)


def without_nulls(tree: yaml_tree.Mapping) -> yaml_tree.Mapping:
    items: dict[str, Item] = {}
    for key, value in tree.items.items():
        if isinstance(value, yaml_tree.Mapping):
            items[key] = without_nulls(value)
        elif not (isinstance(value, Scalar) and value.value is None):
            items[key] = value
    return yaml_tree.Mapping(items, {key: tree.keys[key] for key in items}, tree.at)


def override(text: str) -> yaml_tree.Mapping:
    """`a.b.c=value` as a tree; the path is OmegaConf's, the value is YAML 1.2."""
    at = Location(f"override `{text}`", 1, 1)
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise TopologyError(
            [Diagnostic(at, "LF002", "an override is `key=value`", "write it as in `buffers.inputs.slots=3`")]
        )
    from omegaconf import OmegaConf  # a plain validation does without it
    from omegaconf.errors import OmegaConfBaseException

    item = yaml_tree.parse(value, at.file) if value.strip() else Scalar(None, at)
    config = OmegaConf.create({})
    try:
        OmegaConf.update(config, key.strip(), "value")
        skeleton = OmegaConf.to_container(config, resolve=False)
    except (OmegaConfBaseException, ValueError, TypeError) as error:
        raise TopologyError(
            [
                Diagnostic(
                    at,
                    "LF002",
                    f"`{key}` is not a path of names: {error}",
                    "write it as in `lanes.host.worker`",
                )
            ]
        ) from None
    return mapping(_at_leaf(skeleton, item, at))


def _at_leaf(skeleton: Any, leaf: Item, at: Location) -> Item:
    if not isinstance(skeleton, dict):
        return leaf
    items = {str(key): _at_leaf(value, leaf, at) for key, value in skeleton.items()}
    return yaml_tree.Mapping(items, dict.fromkeys(items, at), at)
