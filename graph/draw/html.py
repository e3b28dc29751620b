"""A view as one page that needs nothing beside it: the graph, the schedule of the first steps, the buffers.

A click on a node, a firing or a buffer shows what it waits for, or its life, in all three. The page forbids
itself the network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import resources

from graph.diagnostics import Firing
from graph.draw import svg
from graph.draw.gantt import gantt
from graph.draw.lifetimes import lifetimes
from graph.draw.picture import picture
from graph.draw.view import View
from graph.draw.waits import page_data
from graph.schedule import costs, schedule

STEPS = 6
"""Steps of the schedule."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def render(view: View) -> str:
    """The page."""
    schedules, trouble = _schedules(view)
    data = page_data(view.topology, schedules, STEPS)
    body = [
        f"<header><h1>{escape(view.title)}</h1><p>{escape(view.summary)}</p></header>",
        "<main>",
        *_faults(view),
        "<h2>Graph</h2>",
        '<p class="hint">Click a node, a firing or a buffer, or press Enter on it; Escape ends it.</p>',
        f'<div class="drawing">{svg.element(picture(view).scene, "graph")}</div>',
        *_drawn(view, schedules, trouble),
        *_buffers(view),
        "</main>",
        '<section id="detail" role="status" aria-live="polite" hidden></section>',
        f'<script type="application/json" id="data">{_json(data)}</script>',
        f"<script>{_resource('page.js')}</script>",
    ]
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(view.title)}</title>",
        f"<style>{_resource('page.css')}</style>",
    ]
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        *head,
        "</head>",
        "<body>",
        *body,
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _schedules(view: View) -> tuple[dict[str, list[Firing]], str]:
    """A schedule for each route, or why there is none."""
    topology = view.topology
    if not topology.lanes:
        return {}, "an abstract topology has no lanes to run on"
    try:
        routes = topology.steps_routes()
        found = {route: schedule(topology, costs(topology), STEPS, (route,)) for route in routes}
    except ValueError as error:
        return {}, str(error)
    return {route: firings for route, firings in found.items() if firings}, ""


def _faults(view: View) -> Iterator[str]:
    if view.faults:
        yield '<h2>Faults</h2><ul class="faults">'
        yield from (f"<li>{escape(f'{one.code} {one.message}')}</li>" for one in view.faults)
        yield "</ul>"


def _drawn(view: View, schedules: Mapping[str, Sequence[Firing]], trouble: str) -> Iterator[str]:
    yield "<h2>Schedule</h2>"
    if trouble:
        yield f'<p class="hint">No schedule: {escape(trouble)}.</p>'
        return
    yield (
        f'<p class="hint">The first {STEPS} steps, each node as soon as its waits allow; durations from '
        "<code>costs</code>, 1 ms where it has none. Below the lanes: which step has which slot.</p>"
    )
    for route, firings in schedules.items():
        if view.topology.routes:
            yield f"<h3>Steps of route {escape(route)}</h3>"
        scene = gantt(view.topology, firings, f"schedule of route {route}")
        yield f'<div class="drawing" data-schedule="{escape(route)}">{svg.element(scene)}</div>'


def _buffers(view: View) -> Iterator[str]:
    topology = view.topology
    if not topology.buffers:
        return
    yield "<h2>Buffers</h2><table><thead><tr>"
    yield "".join(
        f"<th>{head}</th>"
        for head in ("Buffer", "Type", "Slots and place", "Owners", "Other users", "Slots come back")
    )
    yield "</tr></thead><tbody>"
    for one in lifetimes(topology):
        name = escape(one.name)
        cells = (
            topology.buffers[one.name].type,
            ", ".join((*one.about, *(f"route {route}" for route in one.routes))),
            ", then ".join(map(str, one.owners)),
            ", ".join(map(str, one.users)),
            one.returning,
        )
        choose = f'<button type="button" data-choose="{name}">{name}</button>'
        yield (
            f'<tr data-row="{name}"><td>{choose}</td>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            + "</tr>"
        )
    yield "</tbody></table>"


def _json(data: object) -> str:
    """JSON that can stand in a script element: no text in it can end the element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    return resources.files("graph.draw").joinpath(name).read_text(encoding="utf-8")
