"""Faulty files made from real ones: bytes, tokens, branches or like parts changed, dropped or swapped."""

import copy
import random
import re
from pathlib import Path

import yaml

from graph import yaml_tree
from graph.diagnostics import TopologyError
from graph.topology import Buffer, Edge, Lane, Node, Topology

CASES = sorted((Path(__file__).parents[2] / "cases").glob("*.yaml"))
TOKEN = re.compile(r"\w+|->|\s+|[^\w\s]")
PARTS = {
    *Topology.model_fields,
    *Node.model_fields,
    *Edge.model_fields,
    *Buffer.model_fields,
    *Lane.model_fields,
}
ODD_BYTES = (
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\t",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"%",
    b"&a ",
    b"*a ",
)
ODD_TOKENS = (
    *("@", "@0", "@1", "@1024", "@9999999", "->", "~", "null", "1e999", ".nan", "0x", "-1", "9" * 20),
    *(
        "- ",
        "? ",
        ": ",
        "|\n",
        "'",
        '"',
        "{",
        "}",
        "[",
        "]",
        "#",
        "<<: *a",
        "---\n",
        "\n",
        "\u202e",
        "\U0001f600",
    ),
    *("!!python/object:os.system", "extends: ", "abstract: true\n", "in_flight: 1\n"),
)
ODD_VALUES = (
    *(None, True, 0, -1, 1, 1025, 10**30, 1.5, float("nan"), float("inf"), [], {}, [[]], [None], {"": None}),
    *("", "x" * 300, "\x1b[2J", "\ud800", "a@1 -> b", "prepare", "inputs@1", "state", "resource", {"a": {}}),
)


def mutated(seed: int) -> bytes:
    """The file that the seed stands for: one of the cases after one to six changes of one kind."""
    chance = random.Random(seed)
    text = chance.choice(CASES).read_text("utf-8")
    change = chance.choice((_bytes, _tokens, _branches, _kin, _kin, _kin))
    return change(text, chance, chance.choice((1, 1, 1, 2, 3, 6)))


def _bytes(text: str, chance: random.Random, times: int) -> bytes:
    data = bytearray(text.encode())
    for _ in range(times):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 1, 1, 5, 40)))
        data[start:end] = chance.choice(
            (b"", bytes([chance.randrange(256)]), chance.choice(ODD_BYTES), bytes(data[start:end] * 2))
        )
    return bytes(data)


def _tokens(text: str, chance: random.Random, times: int) -> bytes:
    tokens = TOKEN.findall(text)
    other = TOKEN.findall(chance.choice(CASES).read_text("utf-8"))
    for _ in range(times):
        at = chance.randrange(len(tokens))
        tokens[at] = chance.choice(
            ("", chance.choice(tokens), chance.choice(other), chance.choice(ODD_TOKENS))
        )
    return "".join(tokens).encode()


def _branches(text: str, chance: random.Random, times: int) -> bytes:
    tree = _tree(text)
    for _ in range(times):
        entries = list(_entries(tree))
        if not entries:
            break
        _, holder, key = chance.choice(entries)
        branch = copy.deepcopy(chance.choice((chance.choice(ODD_VALUES), chance.choice(entries)[1])))
        change = chance.randrange(4)
        if change == 0 and isinstance(holder, dict):
            holder[chance.choice((*ODD_TOKENS, *tree))] = branch
        elif change == 1:
            del holder[key]
        elif change == 2 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[key] = branch
    return _dumped(tree)


def _kin(text: str, chance: random.Random, times: int) -> bytes:
    """What stands in like places takes each other's place, so that most results are still topologies."""
    tree = _tree(text)
    for _ in range(2 * times):
        entries = [entry for entry in _entries(tree) if len(entry[0]) > 1]
        if not entries:
            break
        path, holder, key = chance.choice(entries)
        _, other, where = chance.choice([kin for kin in entries if _shape(kin[0]) == _shape(path)])
        change = chance.randrange(4)
        if isinstance(holder[key], int) and not isinstance(holder[key], bool):
            holder[key] += chance.choice((-1, 1, 1, 5))
        elif change == 0:
            del holder[key]
        elif change == 1 and isinstance(other, list):
            other.insert(where, copy.deepcopy(holder[key]))
        elif change == 2 and isinstance(holder[key], str):
            holder[key] = f"{holder[key].partition('@')[0]}@{chance.randrange(3)}"
        else:
            holder[key], other[where] = copy.deepcopy(other[where]), copy.deepcopy(holder[key])
    return _dumped(tree)


def _shape(path):
    """A path with the names that a user chose left out."""
    return tuple(part if part in PARTS else "*" for part in path)


def _tree(text):
    try:
        return yaml_tree.plain(yaml_tree.parse(text, "case.yaml"))
    except TopologyError:  # a case of unreadable YAML
        return {}


def _dumped(tree):
    return yaml.dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass")


def _entries(tree, path=()):
    """(path, holder, key) of every entry."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield (*path, key), tree, key
        yield from _entries(tree[key], (*path, key))
