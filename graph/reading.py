"""From a file, or a shipped name, and overrides to a `Topology` that remembers where each thing is declared.

Nothing in a file or an override is executed, imported or looked up in the environment.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from graph import yaml_tree
from graph.diagnostics import Diagnostic, Location, TopologyError
from graph.topology import MAX_NODES, MAX_USES, NAME, Topology, parse_edge
from graph.yaml_tree import Item, Scalar

NOT_INHERITED = ("topology", "summary", "abstract", "extends")


def load(source: str | Path, overrides: Sequence[str] = ()) -> Topology:
    """The topology in a file or of a shipped name, with `key=value` overrides applied.

    Raises `TopologyError` with LF001 (unreadable), LF002 (shape) or LF004 (`extends`, `fallback`); whether the
    topology is sound is for `validate` to say.
    """
    path = locate(source)
    return _build(read_text(path), str(path), path.parent, path.stem, overrides)


def load_text(text: str, file: str = "<stdin>", overrides: Sequence[str] = ()) -> Topology:
    """As `load`, from the text of `file`: `extends` is looked up beside it, then among the shipped ones.

    A name in angle brackets stands for no file: then it is looked up in the working directory.
    """
    stem = "" if file.startswith("<") else Path(file).stem
    return _build(text, file, Path(file).parent, stem, overrides)


def shipped() -> dict[str, Path]:
    """The topologies that come with the package, by name, abstract ones included."""
    folder = Path(str(resources.files("topologies")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def locate(source: str | Path) -> Path:
    """The file that a path or a shipped name means; raises `TopologyError` (LF001) where there is none."""
    path = Path(source)
    looks_like_path = path.suffix in (".yaml", ".yml") or len(path.parts) > 1
    if os.path.isfile(path) and (looks_like_path or path.name not in shipped()):
        return path
    if not looks_like_path and str(source) in shipped():
        return shipped()[str(source)]
    close = difflib.get_close_matches(str(source), shipped(), 1)
    hint = f"did you mean `{close[0]}`? " if close else ""
    names = ", ".join(name for name in shipped())
    what = "no such file" if looks_like_path else "neither a file nor a shipped topology"
    raise TopologyError(
        [
            Diagnostic(
                Location(str(source), 1, 1),
                "LF001",
                f"`{source}`: {what}",
                f"{hint}shipped topologies: {names}",
            )
        ]
    )


def read_text(path: Path) -> str:
    """The text of a topology file, at most 1 MiB of UTF-8; raises `TopologyError` (LF001)."""
    try:
        with path.open("rb") as file:
            return _text(file.read(yaml_tree.MAX_BYTES + 1), str(path))
    except OSError as error:
        raise _unreadable(
            str(path), f"cannot be read: {error.strerror}", "check the path and its permissions"
        ) from None


def read_stdin() -> str:
    """The text on standard input, under the same limits as a file; raises `TopologyError` (LF001)."""
    return _text(sys.stdin.buffer.read(yaml_tree.MAX_BYTES + 1), "<stdin>")


def _text(data: bytes, file: str) -> str:
    if len(data) > yaml_tree.MAX_BYTES:
        raise _unreadable(file, f"larger than {yaml_tree.MAX_BYTES} bytes", "split the file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(file, f"not UTF-8 text (byte {error.start})", "save the file as UTF-8") from None


def _unreadable(file: str, message: str, mend: str) -> TopologyError:
    return TopologyError([Diagnostic(Location(file, 1, 1), "LF001", message, mend)])


def _build(text: str, file: str, folder: Path, stem: str, overrides: Sequence[str]) -> Topology:
    tree = _merged(text, file, folder, ())
    for override in overrides:
        tree = _merge(tree, _long_forms(_override(override)))
    tree = _without_nulls(_long_forms(tree))
    topology = _model(tree, stem)
    if topology.fallback is not None:
        _check_fallbacks(topology)
    return topology


def _merged(text: str, file: str, folder: Path, chain: tuple[str, ...]) -> yaml_tree.Mapping:
    """The file's tree over that of what it extends; `chain` has the files that led here."""
    tree = _long_forms(_mapping(yaml_tree.parse(text, file)))
    base = tree.items.get("extends")
    if base is None or (isinstance(base, Scalar) and base.value is None):
        return tree
    path = _referred(base, folder, "extends")
    resolved = str(path.resolve())
    chain = (*chain, str(Path(file).resolve()))
    if len(chain) > yaml_tree.MAX_DEPTH:
        raise TopologyError(
            [
                Diagnostic(
                    base.at,
                    "LF004",
                    f"`extends` leads through more than {yaml_tree.MAX_DEPTH} files",
                    "extend fewer",
                )
            ]
        )
    if resolved in chain:
        names = " -> ".join(Path(name).stem for name in (*chain[chain.index(resolved) :], resolved))
        raise TopologyError(
            [
                Diagnostic(
                    base.at, "LF004", f"`extends` goes in a circle: {names}", "let one of them stand alone"
                )
            ]
        )
    parent = _merged(read_text(path), str(path), path.parent, chain)
    inherited = {key: value for key, value in parent.items.items() if key not in NOT_INHERITED}
    return _merge(yaml_tree.Mapping(inherited, parent.keys, parent.at), tree)


def _referred(reference: Item, folder: Path, key: str) -> Path:
    """The file that `extends` or `fallback` names: beside the file, else among the shipped ones."""
    name = reference.value if isinstance(reference, Scalar) else None
    if not isinstance(name, str) or not name:
        raise TopologyError(
            [Diagnostic(reference.at, "LF002", f"`{key}` must be a topology's name", f"write `{key}: NAME`")]
        )
    beside = folder / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if os.path.isfile(beside):  # unlike Path.is_file, False for a name too long to be one
        return beside
    known = shipped()
    if name in known:
        return known[name]
    candidates = [*known, *(path.stem for path in folder.glob("*.yaml"))]
    close = difflib.get_close_matches(name, candidates, 1)
    mend = (
        f"did you mean `{close[0]}`?"
        if close
        else f"write a shipped name or put `{name}.yaml` beside this file"
    )
    raise TopologyError([Diagnostic(reference.at, "LF004", f"`{key}: {name}` is not found", mend)])


def fallback_of(topology: Topology) -> Topology:
    """The topology that `fallback` names, without the overrides of the one that names it.

    Raises `TopologyError` (LF004) where there is none or it is not found.
    """
    at = topology.place("fallback")
    path = _referred(Scalar(topology.fallback, at), Path(at.file).parent, "fallback")
    return _model(
        _without_nulls(_long_forms(_merged(read_text(path), str(path), path.parent, ()))), path.stem
    )


def _check_fallbacks(topology: Topology) -> None:
    """Follow `fallback` from file to file: each must exist, and the way must end."""
    seen = [topology.topology]
    current = topology
    while current.fallback is not None:
        at = current.place("fallback")
        current = fallback_of(current)
        if current.topology in seen:
            names = " -> ".join((*seen, current.topology))
            raise TopologyError(
                [
                    Diagnostic(
                        at,
                        "LF004",
                        f"`fallback` goes in a circle: {names}",
                        "let the last one need no fallback",
                    )
                ]
            )
        seen.append(current.topology)


def _mapping(item: Item) -> yaml_tree.Mapping:
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


def _long_forms(tree: yaml_tree.Mapping) -> yaml_tree.Mapping:
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


def _merge(base: yaml_tree.Mapping, over: yaml_tree.Mapping) -> yaml_tree.Mapping:
    """Mappings merge, everything else replaces; an explicit null is kept until the end, where it removes."""
    items = dict(base.items)
    keys = dict(base.keys)
    for key, value in over.items.items():
        known = items.get(key)
        if isinstance(known, yaml_tree.Mapping) and isinstance(value, yaml_tree.Mapping):
            items[key] = _merge(known, value)
        else:
            items[key] = value
            keys[key] = over.keys[key]
    return yaml_tree.Mapping(items, keys, base.at if not over.items else over.at)


def _without_nulls(tree: yaml_tree.Mapping) -> yaml_tree.Mapping:
    items: dict[str, Item] = {}
    for key, value in tree.items.items():
        if isinstance(value, yaml_tree.Mapping):
            items[key] = _without_nulls(value)
        elif not (isinstance(value, Scalar) and value.value is None):
            items[key] = value
    return yaml_tree.Mapping(items, {key: tree.keys[key] for key in items}, tree.at)


def _override(text: str) -> yaml_tree.Mapping:
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
    return _mapping(_at_leaf(skeleton, item, at))


def _at_leaf(skeleton: Any, leaf: Item, at: Location) -> Item:
    if not isinstance(skeleton, dict):
        return leaf
    items = {str(key): _at_leaf(value, leaf, at) for key, value in skeleton.items()}
    return yaml_tree.Mapping(items, dict.fromkeys(items, at), at)


def _model(tree: yaml_tree.Mapping, stem: str) -> Topology:
    data = yaml_tree.plain(tree)
    places = yaml_tree.places(tree)
    data.setdefault("topology", stem)
    if data.get("abstract") is True:
        data.setdefault("nodes", {})
    elif "lanes" not in data:
        raise TopologyError(
            [
                Diagnostic(
                    tree.at,
                    "LF002",
                    "`lanes` is missing",
                    "give each node a lane, or mark the file `abstract: true`",
                )
            ]
        )
    try:
        topology = Topology.model_validate(data)
    except ValidationError as error:
        raise TopologyError(list(_shape_faults(error, places, tree.at))) from None
    topology._places.update(places)
    _check_size(topology)
    return topology


def _check_size(topology: Topology) -> None:
    """Raises `TopologyError` (LF001) for a topology so large that checking it would take more than seconds."""
    uses = sum(len(node.reads) + len(node.writes) for node in topology.nodes.values())
    for count, most, what in (
        (len(topology.nodes), MAX_NODES, "nodes"),
        (uses, MAX_USES, "reads and writes"),
    ):
        if count > most:
            message = f"{count} {what}, which is more than {most}"
            raise TopologyError(
                [Diagnostic(topology.place("nodes"), "LF001", message, "split the topology, or join nodes")]
            )


def _shape_faults(
    error: ValidationError, places: Mapping[tuple[str | int, ...], Location], start: Location
) -> Iterable[Diagnostic]:
    seen: set[tuple[Location, str]] = set()
    for fault in error.errors(include_url=False, include_context=False):
        path = _path(fault["loc"])
        known = path
        while known and known not in places:
            known = known[:-1]
        at = places.get(known, start)
        name = ".".join(str(part) for part in known) or "the topology"
        message, mend = _shape_message(fault, path, name)
        if (at, message) not in seen:
            seen.add((at, message))
            not_a_type = path[:1] == ("types",) and len(path) > 1 and isinstance(fault["input"], str)
            code = "LF005" if not_a_type and fault["type"] in ("value_error", "literal_error") else "LF002"
            yield Diagnostic(at, code, message, mend)


def _path(parts: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Where a model's fault is, without what pydantic adds: `[key]`, and the kind of a type that it tried."""
    path = tuple(part for part in parts if not (isinstance(part, str) and part.startswith("[")))
    return (
        (*path[:2], *path[3:]) if path[:1] == ("types",) and path[2:3] in (("word",), ("record",)) else path
    )


def _shape_message(fault: Any, path: tuple[int | str, ...], name: str) -> tuple[str, str]:
    kind, leaf = fault["type"], str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        fields = _fields_beside(path)
        close = difflib.get_close_matches(leaf, fields, 1)
        known = f"known here: {', '.join(fields)}"
        return f"unknown key `{leaf}`", f"did you mean `{close[0]}`? {known}" if close else known
    if kind == "missing":
        return (
            f"`{leaf}` is missing in `{name}`" if name != "the topology" else f"`{leaf}` is missing",
            f"add `{leaf}`",
        )
    text = fault["msg"].removeprefix("Value error, ")
    if kind == "string_pattern_mismatch":
        text = f"{fault['input']!r} is not a name"
        return f"`{name}`: {text}", f"a name matches {NAME}"
    return f"`{name}`: {text[:1].lower()}{text[1:]}", f"correct `{name}` (it is {_short(fault['input'])})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _fields_beside(path: tuple[int | str, ...]) -> list[str]:
    """The keys that the model around `path` knows."""
    from graph.topology import Buffer, Edge, Lane, Node

    models: dict[str, type[BaseModel]] = {"buffers": Buffer, "nodes": Node, "edges": Edge, "lanes": Lane}
    model: type[BaseModel] = models.get(str(path[0]), Topology) if len(path) > 1 else Topology
    return list(model.model_fields)
