"""The formats in which a view can be drawn, and how a file that was drawn before compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graph.draw.view import View


@dataclass(frozen=True)
class Format:
    """One format: the suffixes of its files, and the function that draws a view."""

    suffixes: tuple[str, ...]
    render: Callable[[View], bytes]
    same: Callable[[bytes, bytes], bool] = bytes.__eq__
    """Whether two files show the same picture."""


def _terminal(view: View) -> bytes:
    from graph.draw import terminal

    return terminal.render(view).encode()


def _mermaid(view: View) -> bytes:
    from graph.draw import mermaid

    return mermaid.render(view).encode()


def _dot(view: View) -> bytes:
    from graph.draw import dot

    return dot.render(view).encode()


def _svg(view: View) -> bytes:
    from graph.draw import picture, svg

    return svg.render(picture.picture(view).scene).encode()


def _png(view: View) -> bytes:
    from graph.draw import picture, png

    return png.render(picture.picture(view).scene)


def _same_png(one: bytes, other: bytes) -> bool:
    from graph.draw import png

    return png.same(one, other)


def _html(view: View) -> bytes:
    from graph.draw import html

    return html.render(view).encode()


FORMATS = {
    "terminal": Format((".txt",), _terminal),
    "mermaid": Format((".mmd", ".mermaid"), _mermaid),
    "dot": Format((".dot", ".gv"), _dot),
    "svg": Format((".svg",), _svg),
    "png": Format((".png",), _png, _same_png),
    "html": Format((".html", ".htm"), _html),
}
"""By name; a format's modules are imported when it draws."""
