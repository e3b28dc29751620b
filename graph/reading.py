"""From a file, or a shipped name, and overrides to a `Topology` that remembers where each thing is declared.

Nothing in a file or an override is executed, imported or looked up in the environment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from graph import yaml_tree
from graph.diagnostics import Diagnostic, Location, TopologyError
from graph.files import locate, read_text, referred
from graph.merging import long_forms, mapping, merge, override, without_nulls
from graph.rules.names import Unknown, told
from graph.shape_faults import shape_faults
from graph.topology import MAX_NODES, MAX_PAIRS, Topology
from graph.yaml_tree import Scalar

NOT_INHERITED = ("topology", "summary", "abstract", "extends")


def load(source: str | Path, overrides: Sequence[str] = ()) -> Topology:
    """The topology in a file or of a shipped name, with `key=value` overrides applied.

    Raises `TopologyError` with LF001 (unreadable), LF002 (shape), LF003 (an override of a dimension that nothing
    knows) or LF004 (`extends`, `fallback`); whether the topology is sound is for `validate` to say.
    """
    path = locate(source)
    return _build(read_text(path), str(path), path.parent, path.stem, overrides)


def load_text(text: str, file: str = "<stdin>", overrides: Sequence[str] = ()) -> Topology:
    """As `load`, from the text of `file`: `extends` is looked up beside it, then among the shipped ones.

    A name in angle brackets stands for no file: then it is looked up in the working directory.
    """
    stem = "" if file.startswith("<") else Path(file).stem
    return _build(text, file, Path(file).parent, stem, overrides)


def _build(source: str, file: str, folder: Path, stem: str, overrides: Sequence[str]) -> Topology:
    tree = _merged(source, file, folder, ())
    declared = _dims(tree)
    given: dict[str, Location] = {}
    for text in overrides:
        over = long_forms(override(text))
        given |= _dims(over)
        tree = merge(tree, over)
    tree = without_nulls(long_forms(tree))
    topology = _model(tree, stem)
    _check_dims(topology, declared, given)
    if topology.fallback is not None:
        _check_fallbacks(topology)
    return topology


def _dims(tree: yaml_tree.Mapping) -> Mapping[str, Location]:
    """Where each dimension is given its size."""
    dims = tree.items.get("dims")
    return dims.keys if isinstance(dims, yaml_tree.Mapping) else {}


def _check_dims(topology: Topology, declared: Iterable[str], given: Mapping[str, Location]) -> None:
    """Raises `TopologyError` (LF003) for an override of a dimension that is neither declared nor used."""
    records = (kind for kind in topology.types.values() if not isinstance(kind, str))
    used = (dim for record in records for tensor in record.values() for dim in tensor.dims)
    known = dict.fromkeys([*declared, *(dim for dim in used if isinstance(dim, str))])
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TopologyError(
            [told(Unknown("dimension", name, known, ("dims", name)), given[name]) for name in unknown]
        )


def _merged(text: str, file: str, folder: Path, chain: tuple[str, ...]) -> yaml_tree.Mapping:
    """The file's tree over that of what it extends; `chain` has the files that led here."""
    tree = long_forms(mapping(yaml_tree.parse(text, file)))
    base = tree.items.get("extends")
    if base is None or (isinstance(base, Scalar) and base.value is None):
        return tree
    path = referred(base, folder, "extends")
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
    return merge(yaml_tree.Mapping(inherited, parent.keys, parent.at), tree)


def fallback_of(topology: Topology) -> Topology:
    """The topology that `fallback` names, without the overrides of the one that names it.

    Raises `TopologyError` (LF004) where there is none or it is not found.
    """
    at = topology.place("fallback")
    path = referred(Scalar(topology.fallback, at), Path(at.file).parent, "fallback")
    return _model(without_nulls(long_forms(_merged(read_text(path), str(path), path.parent, ()))), path.stem)


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
        raise TopologyError(list(shape_faults(error, places, tree.at))) from None
    topology._places.update(places)
    _check_size(topology)
    return topology


def _check_size(topology: Topology) -> None:
    """Raises `TopologyError` (LF001) for a topology so large that checking it would take more than seconds."""
    uses = Counter(use.buffer for node in topology.nodes.values() for use in (*node.reads, *node.writes))
    pairs = sum(count * count for count in uses.values())
    if len(topology.nodes) > MAX_NODES:
        message = f"{len(topology.nodes)} nodes, which is more than {MAX_NODES}"
    elif pairs > MAX_PAIRS:
        buffer, count = uses.most_common(1)[0]
        message = (
            f"{pairs} pairs of reads and writes, which is more than {MAX_PAIRS}: `{buffer}` alone has {count}"
        )
    else:
        return
    raise TopologyError(
        [Diagnostic(topology.place("nodes"), "LF001", message, "split the topology, or join nodes")]
    )
