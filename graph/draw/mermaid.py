"""A view as a mermaid flowchart, which code hosts draw: a subgraph for each lane, a shape for each kind."""

from __future__ import annotations

from collections.abc import Iterator

from graph.draw import palette
from graph.draw.lifetimes import returns
from graph.draw.view import View
from graph.draw.wording import link_words, node_lines
from graph.topology import KINDS, Kind

SHAPES: dict[Kind, tuple[str, str]] = {
    "prepare": ("[", "]"),
    "bind": ("(", ")"),
    "dispatch": ("[[", "]]"),
    "reclaim": ("([", "])"),
    "release": ("{{", "}}"),
}


def render(view: View) -> str:
    """The flowchart; ids are `n0`, `n1`, .. by lane, as a name might be a word of mermaid."""
    ids = {name: f"n{place}" for place, name in enumerate(view.nodes)}
    lines = ["---", f'title: "{_escaped(view.title)}"', "---", "flowchart LR"]
    for place, band in enumerate(view.bands):
        lines.append(f'  subgraph lane{place}["{_escaped(f"{band.name} {band.worker}".rstrip())}"]')
        lines += [f"    {_node(view, name, ids[name])}" for name in band.nodes]
        lines.append("  end")
    lines += [f"  {line}" for line in (*_links(view, ids), *_returns(view, ids), *_styles(view))]
    return "\n".join(lines) + "\n"


def _node(view: View, name: str, ident: str) -> str:
    node = view.nodes[name]
    before, after = SHAPES[node.kind]
    text = "<br/>".join(map(_escaped, node_lines(node)))
    return f'{ident}{before}"{text}"{after}:::{"fault" if node.codes else node.kind}'


def _links(view: View, ids: dict[str, str]) -> Iterator[str]:
    for link in view.links:
        arrow = "-.->" if link.key.back else "==>" if link.style == "carries" else "-->"
        words = ", ".join(map(_escaped, link_words(link)))
        label = f'|"{words}"|' if words else ""
        yield f"{ids[link.key.producer]} {arrow}{label} {ids[link.key.consumer]}"


def _returns(view: View, ids: dict[str, str]) -> Iterator[str]:
    for giver, taker, name in returns(view.topology):
        slots = view.topology.buffers[name].slots
        yield f'{ids[giver]} -.->|"{_escaped(name)}: slot back, {slots} in all"| {ids[taker]}'


def _styles(view: View) -> Iterator[str]:
    for kind in KINDS:
        fill, stroke = palette.KINDS[kind]
        yield f"classDef {kind} fill:{fill},stroke:{stroke},color:{palette.INK}"
    yield f"classDef fault fill:{palette.PAPER},stroke:{palette.FAULT},color:{palette.FAULT},stroke-width:3px"
    first, count = len(view.links), len(returns(view.topology))
    if count:
        which = ",".join(map(str, range(first, first + count)))
        yield f"linkStyle {which} stroke:{palette.FAINT},color:{palette.FAINT},stroke-width:1px"


def _escaped(text: str) -> str:
    """Text with everything but letters, digits and plain marks as an entity, so that none of it is syntax."""
    return "".join(one if one.isalnum() or one in " _-+@.,:!" else f"#{ord(one)};" for one in text)
