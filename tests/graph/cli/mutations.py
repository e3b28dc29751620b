"""Faulty files made from real ones: bytes, tokens or branches replaced, dropped, doubled or swapped."""

import random
import re
from pathlib import Path

import yaml

from graph import yaml_tree
from graph.diagnostics import TopologyError

CASES = sorted((Path(__file__).parents[2] / "cases").glob("*.yaml"))
TOKEN = re.compile(r"\w+|->|\s+|[^\w\s]")
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
    change = chance.choice((_bytes, _tokens, _branches))
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
    try:
        tree = yaml_tree.plain(yaml_tree.parse(text, "case.yaml"))
    except TopologyError:  # a case of unreadable YAML
        return text.encode()
    for _ in range(times):
        holder, key = chance.choice(list(_entries(tree)))
        value = chance.choice((chance.choice(ODD_VALUES), *chance.choice(list(_entries(tree)))[:1]))
        change = chance.randrange(4)
        if change == 0 and isinstance(holder, dict):
            holder[chance.choice((*ODD_TOKENS, *tree))] = value
        elif change == 1:
            del holder[key]
        elif change == 2 and isinstance(holder, list):
            holder.append(holder[key])
        else:
            holder[key] = value if value is not holder else None
        if not tree or not list(_entries(tree)):
            break
    try:
        return yaml.dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass")
    except RecursionError:  # a branch was put into itself
        return b"{}"


def _entries(tree, depth=0):
    """(holder, key) of every entry, as deep as a file may go."""
    if depth > yaml_tree.MAX_DEPTH or not isinstance(tree, dict | list):
        return
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        yield from _entries(tree[key], depth + 1)
