"""What nodes and edges say of themselves in pictures that are made of text."""

from __future__ import annotations

from graph.draw.view import Link, NodeView


def node_lines(node: NodeView) -> list[str]:
    """A node's place, name and kind, then `+` what it acquires, `-` what it releases, `!` a fault."""
    position = f"{node.position} " if node.position else ""
    found = [f"{position}{node.title}", ", ".join((node.kind, *node.routes))]
    found += [f"+{name}" for name in node.acquires] + [f"-{name}" for name in node.releases]
    return [*found, *([f"emits {node.emits}"] if node.emits else []), *(f"! {code}" for code in node.codes)]


def link_words(link: Link) -> list[str]:
    """Carried buffers, `(lent)` ones, a `<value>`, and `@1` where the edge comes from the step before."""
    words = [
        *link.carries,
        *(f"({name})" for name in link.lends),
        *([f"<{link.value}>"] if link.value else []),
    ]
    return [*words, *([f"@{link.key.back}"] if link.key.back else [])]
