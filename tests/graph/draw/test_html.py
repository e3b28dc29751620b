"""The page, in a real browser where there is one: from a file, with no network."""

import html
import json
import re
import shutil
import subprocess

import pytest

from graph.draw.html import render
from graph.draw.view import view
from graph.reading import load
from graph.validate import diagnose
from tests.graph.draw.views import VIEWS
from tests.graph.headers import CASES

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
    "--dump-dom",
]

PROBE = """
<script>
const state = () => Object.fromEntries(["selected", "waited", "life"].map((name) => [name,
  [...document.querySelectorAll("." + name)].map((one) => {
    const d = one.dataset;
    return d.node || d.firing || d.buffer || d.row || d.tenure || (d.from + ">" + d.to);
  })]));
const found = { targets: document.querySelectorAll("g[tabindex='0'][role=button]").length };
const click = (selector) => document.querySelector(selector)
  .dispatchEvent(new MouseEvent("click", { bubbles: true }));
const press = (selector, key) => {
  document.querySelector(selector).focus();
  found.focused = document.activeElement === document.querySelector(selector);
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
};
STEPS
const out = document.createElement("pre");
out.id = "found";
out.textContent = JSON.stringify(found);
document.body.appendChild(out);
</script>
"""


def browse(tmp_path, page, steps):
    """What the probe found after some steps in the page."""
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", PROBE.replace("STEPS", steps) + "</body>"), encoding="utf-8")
    command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", file.as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found, run.stdout[-2000:]
    return json.loads(html.unescape(found[1]))


@needs_chromium
def test_a_click_on_a_node_shows_its_waits_in_graph_and_schedule(tmp_path):
    found = browse(
        tmp_path,
        render(view(load("latebind"), "decode")),
        "click('[data-node=bind]'); found.bind = state();"
        "found.told = document.getElementById('detail').innerText;",
    )
    bind = found["bind"]
    assert {"bind", "bind:3"} <= set(bind["selected"])
    assert {"prepare", "reclaim", "release", "reclaim>bind", "prepare>bind", "outputs"} <= set(bind["waited"])
    assert "dispatch" not in bind["waited"]
    assert "inputs" not in bind["waited"]
    firings = {one for one in bind["waited"] if ":" in one}
    assert firings == {"prepare:3", "reclaim:2", "release:1"}
    assert "reclaim of step k-1" in found["told"]
    assert "release of step k-2 (a slot of outputs)" in found["told"]


@needs_chromium
def test_a_click_on_a_firing_shows_what_that_step_waits_for(tmp_path):
    steps = "click('[data-firing=\"bind:5\"]'); found.bind = state();"
    found = browse(tmp_path, render(view(load("latebind"), "decode")), steps)
    assert {one for one in found["bind"]["waited"] if ":" in one} == {"prepare:5", "reclaim:4", "release:3"}


@needs_chromium
def test_a_buffer_shows_its_life_and_the_keyboard_is_enough(tmp_path):
    steps = (
        "press('[data-buffer=outputs]', 'Enter'); found.outputs = state();"
        "press('[data-buffer=outputs]', 'Escape'); found.after = state();"
        "click('[data-choose=inputs]'); found.inputs = state();"
    )
    found = browse(tmp_path, render(view(load("pingpong"), "decode")), steps)
    assert found["focused"]
    assert found["targets"] > 20
    outputs = found["outputs"]
    assert set(outputs["selected"]) == {"outputs"}
    nodes = {"bind", "dispatch", "reclaim", "release"}
    assert nodes <= set(outputs["life"])
    assert "prepare" not in outputs["life"]
    assert {"dispatch:0", "bind>dispatch"} <= set(outputs["life"])
    assert found["after"] == {"selected": [], "waited": [], "life": []}
    assert "prepare" in found["inputs"]["life"]


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_stands_alone(name):
    page = render(VIEWS[name])
    assert not re.search(r"""(src|href)\s*=|@import|url\(|fetch\(""", page)
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])
    assert set(data["nodes"]) == set(VIEWS[name].nodes)
    assert set(data["buffers"]) == set(VIEWS[name].topology.buffers)
    for firings in data["firings"].values():
        assert all(wait["firing"] in firings for waits in firings.values() for wait in waits)


def test_a_topology_that_cannot_run_has_a_page_that_says_so():
    topology = load(CASES / "lagged_reclaim_one_slot.fault.yaml")
    page = render(view(topology, None, diagnose(topology)))
    assert "No schedule: nodes wait for each other in a circle" in page
    assert "LF301" in page


@needs_chromium
def test_text_from_the_file_is_never_script(tmp_path):
    hostile = (
        "</title></script><script>document.body.remove()</script><img src=x onerror=document.body.remove()>"
    )
    topology = load("sync").model_copy(update={"topology": hostile, "summary": hostile})
    found = browse(
        tmp_path,
        render(view(topology)),
        "found.title = document.title; found.images = document.images.length;",
    )
    assert found["title"] == hostile
    assert found["images"] == 0
