"""A view for the terminal: lanes side by side, a step downwards, then the buffers.

Where the whole is wider than the terminal, each route is drawn by itself; what does not fit even so is told
in a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap

from graph.draw.arrange import arrange
from graph.draw.canvas import Canvas
from graph.draw.layout import Layout, Size, Spacing, lay_out
from graph.draw.lifetimes import Lifetime, lifetimes
from graph.draw.view import Link, NodeView, View, view
from graph.draw.wording import link_words, node_lines
from graph.topology import Kind

SPACING = Spacing(track=1, wire=1, slot=1, gap=0, arrow=1, port=2, band=2)
LABEL = 18
"""The most characters in a line of an edge's label."""
HEAD = 2
"""Lines that name the lanes."""
COLOURS: dict[Kind, str] = {"prepare": "34", "bind": "35", "dispatch": "33", "reclaim": "32", "release": "90"}
FAULT, HEAD_OF_LINE = "31", "▼"


def render(view: View, width: int = 100, colour: bool = False) -> str:
    """The drawing in lines of at most `width` characters, at least 40; with ANSI colours where asked for."""
    width = max(width, 40)
    text = [view.title, *(wrap(view.summary, width))]
    for part in _parts(view, width):
        text += ["", *_graph(part, width, colour)]
    text += ["", *_buffers(view, width)]
    return "\n".join([*text, *_legend(view, width)]) + "\n"


def _parts(whole: View, width: int) -> list[View]:
    """The view, or one view a route where the view is too wide."""
    routes = whole.topology.steps_routes()
    if len(routes) == 1 or _layout(whole).size[1] <= width:
        return [whole]
    return [view(whole.topology, route, whole.faults) for route in routes]


def _graph(part: View, width: int, colour: bool) -> Iterator[str]:
    layout = _layout(part)
    if len(part.topology.steps_routes()) == 1 and part.topology.routes:
        yield f"route {next(iter(part.topology.routes))}"
    if layout.size[1] > width:
        yield from _list(part, width)
        return
    yield from _drawn(part, layout, colour)


def _layout(part: View) -> Layout:
    nodes = {
        name: (len(node_lines(node)) + 2, max(map(len, node_lines(node))) + 4)
        for name, node in part.nodes.items()
    }
    labels: Mapping[int, Size] = {
        index: (len(text), max(map(len, text)) + 2)
        for index, link in enumerate(part.links)
        if (text := _label(link))
    }
    grid = arrange(part)
    for name, (height, across) in nodes.items():
        wires = max(sum(w.producer == name for w in grid.wires), sum(w.consumer == name for w in grid.wires))
        nodes[name] = height, max(across, SPACING.port * 2 * wires + 1)
    least = [len(f"{band.name} {band.worker}") + 4 for band in part.bands]
    return lay_out(grid, nodes, labels, SPACING, least)


def _drawn(part: View, layout: Layout, colour: bool) -> list[str]:
    canvas = Canvas()
    for points, link in zip(layout.wires, part.links, strict=True):
        moved = [(y + HEAD, x) for y, x in points]
        (start, at), (end, x) = moved[0], moved[-1]
        canvas.line([(start - 1, at), *moved[:-1], (end - 1, x)], dashed=link.key.back > 0)
    for points in layout.wires:
        canvas.text(points[-1][0] + HEAD - 1, points[-1][1], HEAD_OF_LINE)
    for index, box in layout.labels.items():
        for place, line in enumerate(_label(part.links[index])):
            room = box.end[1] - box.start[1]
            canvas.text(box.start[0] + HEAD + place, box.start[1], line.center(room))
    for name, box in layout.nodes.items():
        _card(canvas, part.nodes[name], box.start[0] + HEAD, box.start[1], box.end[1] - box.start[1], colour)
    for points in layout.wires:
        canvas.text(points[0][0] + HEAD - 1, points[0][1], "┬")
    for band, (start, _) in zip(part.bands, layout.bands, strict=True):
        canvas.text(0, start + 2, band.name)
        canvas.text(0, start + 3 + len(band.name), band.worker)
        if start:
            for row in range(layout.size[0] + HEAD):
                canvas.fill(row, start, "┊")
    for column in range(layout.size[1]):
        canvas.fill(1, column, "─")
    return canvas.rows()


def _card(canvas: Canvas, node: NodeView, y: int, x: int, across: int, colour: bool) -> None:
    style = (FAULT if node.codes else COLOURS[node.kind]) if colour else ""
    lines = node_lines(node)
    canvas.text(y, x, f"╭{'─' * (across - 2)}╮", style)
    for place, line in enumerate(lines, 1):
        canvas.text(y + place, x, f"│ {line.ljust(across - 4)} │", style)
    canvas.text(y + len(lines) + 1, x, f"╰{'─' * (across - 2)}╯", style)


def _label(link: Link) -> list[str]:
    return wrap(", ".join(link_words(link)), LABEL, break_long_words=False)


def _list(part: View, width: int) -> Iterator[str]:
    for band in part.bands:
        yield f"{band.name} {band.worker}".rstrip()
        for name in band.nodes:
            yield from _hanging("  ", " | ".join(node_lines(part.nodes[name])), width)
            for link in part.links:
                if link.key.producer == name:
                    words = ", ".join(link_words(link))
                    yield from _hanging(
                        "      ", f"-> {link.key.consumer}{f': {words}' if words else ''}", width
                    )


def _buffers(view: View, width: int) -> Iterator[str]:
    for one in lifetimes(view.topology):
        head = f"{one.name}: {', '.join(one.about)}"
        yield from _hanging("", head + "".join(f", route {route}" for route in one.routes), width)
        for line in filter(None, (_owners(one), _users(one), one.returning)):
            yield from _hanging("  ", line, width)


def _owners(one: Lifetime) -> str:
    return " > ".join(f"{turn.node} ({turn.uses})" if turn.uses else turn.node for turn in one.owners)


def _users(one: Lifetime) -> str:
    return f"used by {', '.join(f'{turn.node} ({turn.uses})' for turn in one.users)}" if one.users else ""


def _legend(view: View, width: int) -> Iterator[str]:
    yield ""
    signs = ["+ acquires", "- releases", "a name at a line: what is carried"]
    styles = {link.style for link in view.links}
    signs += ["(name) lent"] if any(link.lends for link in view.links) else []
    signs += ["<name> a value"] if "value" in styles else []
    signs += ["no name: order alone"] if "order" in styles else []
    signs += ["dashed, @1: from the step before"] if any(link.key.back for link in view.links) else []
    signs += (
        ["node@1: works one step behind its lane"] if any(node.lag for node in view.nodes.values()) else []
    )
    signs += ["owner > next owner"] if view.topology.buffers else []
    yield from wrap("; ".join(signs), width)


def _hanging(indent: str, text: str, width: int) -> list[str]:
    return wrap(text, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)
