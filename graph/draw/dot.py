"""A view in the language of Graphviz: a cluster for each lane, a shape for each kind."""

from __future__ import annotations

from collections.abc import Iterator

from graph.draw import palette
from graph.draw.lifetimes import returns
from graph.draw.view import View
from graph.draw.wording import link_words, node_lines
from graph.topology import Kind

SHAPES: dict[Kind, str] = {
    "prepare": "box",
    "bind": "note",
    "dispatch": "box3d",
    "reclaim": "cds",
    "release": "hexagon",
}


def render(view: View) -> str:
    """The graph as `dot` reads it."""
    lines = [
        f"digraph {_quoted(view.title)} {{",
        f"  rankdir=LR; newrank=true; labelloc=t; label={_quoted(view.title)};",
        '  node [style=filled, fontname="Helvetica"]; edge [fontname="Helvetica", fontsize=10];',
    ]
    for place, band in enumerate(view.bands):
        label = _quoted(f"{band.name} {band.worker}".rstrip())
        lines.append(
            f'  subgraph cluster_{place} {{ label={label}; style=filled; color="{palette.BANDS[0]}";'
        )
        lines += [f"    {_node(view, name)}" for name in band.nodes]
        lines.append("  }")
    lines += [f"  {line}" for line in (*_links(view), *_returns(view))]
    return "\n".join([*lines, "}"]) + "\n"


def _node(view: View, name: str) -> str:
    node = view.nodes[name]
    fill, stroke = palette.KINDS[node.kind]
    label = _quoted(*node_lines(node))
    line = f'color="{palette.FAULT}", penwidth=3' if node.codes else f'color="{stroke}"'
    return f'{_quoted(name)} [label={label}, shape={SHAPES[node.kind]}, fillcolor="{fill}", {line}];'


def _links(view: View) -> Iterator[str]:
    for link in view.links:
        colour, width = palette.LINKS[link.style]
        style = "dashed" if link.key.back else "solid"
        ends = f"{_quoted(link.key.producer)} -> {_quoted(link.key.consumer)}"
        free = ", constraint=false" if link.key.back else ""
        label = _quoted(", ".join(link_words(link)))
        yield f'{ends} [label={label}, color="{colour}", penwidth={width}, style={style}{free}];'


def _returns(view: View) -> Iterator[str]:
    for giver, taker, name in returns(view.topology):
        label = _quoted(f"{name}: slot back, {view.topology.buffers[name].slots} in all")
        look = f'color="{palette.FAINT}", fontcolor="{palette.FAINT}", style=dashed, constraint=false'
        yield f"{_quoted(giver)} -> {_quoted(taker)} [label={label}, {look}];"


def _quoted(*lines: str) -> str:
    """Lines as one quoted string."""
    text = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return f'"{text}"'
