"""The legend: what colours, lines and signs mean; it names only what the picture has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph.draw import palette
from graph.draw.scene import Line, Mark, Rect, Text
from graph.draw.text_size import rows, width
from graph.draw.view import STYLES, View
from graph.topology import KINDS

SMALL, ROW, SIGN = 11.5, 20, 30
MEANINGS = {
    "carries": "filled name: carried, the slot's ownership moves",
    "lends": "outlined name: lent, to be used while ownership stays",
    "value": "a value goes along",
    "order": "order alone",
}


@dataclass(frozen=True)
class Key:
    """One entry: a sign and what it means. The sign is a kind's or a link's name, or the text itself."""

    sign: str
    text: str

    @property
    def width(self) -> float:
        return SIGN + 6 + width(self.text, SMALL)

    def marks(self, x: float, y: float) -> Iterator[Mark]:
        """The entry with its upper left corner at (x, y)."""
        if kind := next((kind for kind in KINDS if kind == self.sign), None):
            fill, stroke = palette.KINDS[kind]
            yield Rect(x + 8, y + 2, 22, 12, fill, stroke, 1.2, 3.0)
        elif style := next((style for style in STYLES if style == self.sign.removesuffix("@")), None):
            colour, line = palette.LINKS[style]
            yield Line(
                [(x, y + 8), (x + SIGN, y + 8)], colour, line, dashed=self.sign.endswith("@"), arrow=True
            )
        else:
            yield Text(
                x + SIGN / 2, y + 12, self.sign, SMALL, width(self.sign, SMALL), palette.QUIET, "middle"
            )
        yield Text(x + SIGN + 6, y + 12, self.text, SMALL, width(self.text, SMALL), palette.QUIET)


def legend(view: View, x: float, y: float, across: float) -> tuple[list[Mark], float]:
    """The legend's marks, in as many rows as the width needs, and where it ends."""
    marks: list[Mark] = []
    for keys in (_kinds(view), _links(view), _signs(view)):
        for row in rows([key.width for key in keys], across, 18):
            at = x
            for index in row:
                marks += keys[index].marks(at, y)
                at += keys[index].width + 18
            y += ROW
    return marks, y


def _kinds(view: View) -> Sequence[Key]:
    return [Key(kind, kind) for kind in KINDS if any(node.kind == kind for node in view.nodes.values())]


def _links(view: View) -> Sequence[Key]:
    found = [
        Key(style, MEANINGS[style]) for style in STYLES if any(style in link.does for link in view.links)
    ]
    if any(link.key.back for link in view.links):
        found.append(Key("order@", "dashed: from an earlier step; @1 is the step before"))
    return found


def _signs(view: View) -> Sequence[Key]:
    found = []
    if any(node.position for node in view.nodes.values()):
        found.append(Key("1, 2 ..", "the order in which a lane runs its nodes, turn after turn"))
    if any(node.lag for node in view.nodes.values()):
        found.append(Key("@1", "at a node: in each turn it works on the step before"))
    return found
