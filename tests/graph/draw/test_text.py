"""The formats that are text: the terminal's, mermaid, dot, svg."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from graph.cli.show import UNDRAWABLE
from graph.diagnostics import TopologyError
from graph.draw import dot, html, mermaid, svg, terminal
from graph.draw.picture import picture
from graph.draw.view import view
from graph.reading import load, load_text
from graph.validate import diagnose
from tests.graph.draw.views import VIEWS
from tests.graph.headers import CASES

EVERY = pytest.mark.parametrize("name", VIEWS)
HOSTILE = "\"]; end --> x </title><script>alert('1')</script> & \\ ` #quot; \x1b[31m"


def drawn_svg(seen):
    return svg.render(picture(seen).scene)


@EVERY
@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_terminal_drawing_keeps_to_the_width_and_names_everything(name, width):
    text = terminal.render(VIEWS[name], width)
    assert max(map(len, text.splitlines())) <= width
    words = set(re.findall(r"\w+", text))
    topology = VIEWS[name].topology
    assert {*topology.nodes, *topology.buffers, *topology.lanes} <= words


@EVERY
def test_without_colour_the_terminal_drawing_has_no_escape(name):
    assert "\x1b" not in terminal.render(VIEWS[name])


def test_a_drawing_of_lanes_says_who_acquires_and_releases_and_when_the_slot_is_free():
    text = terminal.render(view(load("pingpong"), "decode"), 100)
    for part in ("+inputs", "-outputs", "prepare of step k+2 waits for release of step k", "host thread"):
        assert part in text


def test_a_lag_and_a_wait_for_an_earlier_step_are_written_where_they_act():
    assert "release@1" in terminal.render(view(load("overlap")), 120)
    late = terminal.render(view(load("latebind"), "decode"), 100)
    assert "@1" in late
    assert "┆" in late


def test_colours_change_nothing_else():
    plain, coloured = (terminal.render(view(load("pingpong")), 100, colour) for colour in (False, True))
    assert coloured != plain
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain


def test_nodes_at_fault_are_marked_in_every_format():
    topology = load(CASES / "early_release_under_reclaim.fault.yaml")
    faults = diagnose(topology)
    node = next(one.nodes[0] for one in faults if one.code == "LF205")
    seen = view(topology, None, faults)
    assert "LF205" in seen.nodes[node].codes
    assert "! LF205" in terminal.render(seen)
    assert "! LF205" in mermaid.render(seen)
    assert ":::fault" in mermaid.render(seen)
    assert "! LF205" in dot.render(seen)
    assert "fault: LF205" in drawn_svg(seen)


@EVERY
def test_mermaid_has_a_subgraph_a_lane_and_a_line_an_edge_and_slot_return(name):
    seen = VIEWS[name]
    text = mermaid.render(seen)
    lines = [line.strip() for line in text.splitlines()]
    assert sum(line.startswith("subgraph ") for line in lines) == lines.count("end") == len(seen.bands)
    edge = re.compile(r'n\d+ (-->|==>|-\.->)(\|"[^"|]*"\|)? n\d+')
    buffers = seen.topology.buffers
    returns = sum(len(seen.topology.acquirers(b)) * len(seen.topology.releasers(b)) for b in buffers)
    assert sum(edge.fullmatch(line) is not None for line in lines) == len(seen.links) + returns
    node = re.compile(r'n\d+(\["|\("|\[\["|\(\["|\{\{")[^"]*("\]|"\)|"\]\]|"\]\)|"\}\}):::\w+')
    assert sum(node.fullmatch(line) is not None for line in lines) == len(seen.nodes)


@EVERY
def test_dot_balances_its_quotes_and_braces(name):
    text = dot.render(VIEWS[name])
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    assert '"' not in bare
    assert bare.count("{") == bare.count("}") == len(VIEWS[name].bands) + 1


@EVERY
def test_svg_is_xml_with_a_group_a_node_and_an_edge(name):
    root = ElementTree.fromstring(drawn_svg(VIEWS[name]))
    groups = [one.attrib for one in root.iter("{http://www.w3.org/2000/svg}g")]
    assert {one["data-node"] for one in groups if "data-node" in one} == set(VIEWS[name].nodes)
    links = {(one["data-from"], one["data-to"]) for one in groups if "data-from" in one}
    assert links == {(link.key.producer, link.key.consumer) for link in VIEWS[name].links}


def test_text_from_the_file_is_never_syntax():
    hostile = load("pingpong").model_copy(update={"topology": HOSTILE, "summary": HOSTILE})
    seen = view(hostile)
    root = ElementTree.fromstring(drawn_svg(seen))
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    title = mermaid.render(seen).splitlines()[1]
    assert re.fullmatch(r'title: "[^"\\<>]*"', title)
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot.render(seen))
    assert "script" not in bare
    assert '"' not in bare
    assert "\x1b" not in terminal.render(seen)


def test_the_same_view_is_drawn_the_same():
    for render in (terminal.render, mermaid.render, dot.render, drawn_svg):
        assert render(view(load("chip_run"))) == render(view(load("chip_run")))


def test_an_order_alone_is_told_from_what_is_carried_and_lent():
    text = """\
types: {T: value}
buffers: {a: {type: T, slots: 2}}
nodes:
  take: {kind: prepare, acquires: [a], writes: [a]}
  look: {kind: reclaim, reads: [a]}
  drop: {kind: release, releases: [a]}
edges:
  take -> look: {lends: [a], value: T}
  take -> drop: {carries: [a]}
  look -> drop: {}
lanes: {host: [take, drop], output: [look]}
"""
    seen = view(load_text(text))
    assert [link.does for link in seen.links] == [("lends", "value"), ("carries",), ("order",)]
    drawn = terminal.render(seen)
    assert "(a), <T>" in drawn
    assert "no name: order alone" in drawn


def drawable(path):
    try:
        topology = load(path)
    except TopologyError:
        return None
    faults = diagnose(topology)
    return None if {one.code for one in faults} & set(UNDRAWABLE) else (topology, faults)


@pytest.mark.parametrize("path", sorted(CASES.glob("*.fault.yaml")), ids=lambda path: path.stem)
def test_every_unsound_topology_that_has_a_graph_is_drawn(path):
    found = drawable(path)
    if found is None:
        return
    seen = view(found[0], None, found[1])
    marked = {node for node, one in seen.nodes.items() if one.codes}
    assert marked == {one.nodes[0] for one in found[1] if one.severity == "error" and one.nodes}
    for render in (terminal.render, mermaid.render, dot.render, drawn_svg, html.render):
        assert all(node in render(seen) for node in seen.nodes)
