"""The colours of pictures, each readable as text or as the ground of dark text."""

from __future__ import annotations

from graph.draw.view import Style
from graph.topology import Kind, Topology

INK, QUIET, FAINT, PAPER, FAULT = "#1d2733", "#55606e", "#8a94a0", "#ffffff", "#c1121f"
BANDS = ("#f4f6f9", "#e9edf2")

KINDS: dict[Kind, tuple[str, str]] = {
    "prepare": ("#dbeafe", "#3b6fb6"),
    "bind": ("#e5dcfa", "#7455b8"),
    "dispatch": ("#fde3c8", "#c2701c"),
    "reclaim": ("#d3f0dc", "#2f8550"),
    "release": ("#e3e5e8", "#6b7480"),
}
"""For each kind its fill and its outline."""

LINKS: dict[Style, tuple[str, float]] = {
    "carries": ("#1d2733", 2.2),
    "lends": ("#2563a8", 1.3),
    "value": ("#8a3ea8", 1.3),
    "order": ("#7d8793", 1.1),
}
"""For what an edge carries its colour and the width of its line."""

_BUFFERS = (
    "#2463c4",
    "#c0394d",
    "#25764a",
    "#8d650a",
    "#7447c2",
    "#0b7282",
    "#b04d14",
    "#a2338d",
    "#55657a",
    "#55721a",
)


def buffer_colours(topology: Topology) -> dict[str, str]:
    """A colour for each buffer; with more than ten buffers they repeat."""
    return {name: _BUFFERS[place % len(_BUFFERS)] for place, name in enumerate(topology.buffers)}
