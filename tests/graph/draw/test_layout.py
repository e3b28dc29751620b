import copy
import random
from functools import cache
from itertools import combinations, pairwise

import pytest

from graph.draw.arrange import MOST_WORK, arrange
from graph.draw.improve import improve, moves
from graph.draw.layout import Box
from graph.draw.picture import picture
from graph.draw.planar import least_crossings
from graph.draw.view import view
from graph.files import shipped
from graph.reading import load, load_text
from graph.topology import Edge, parse_edge
from tests.graph.draw.views import VIEWS

EVERY = pytest.mark.parametrize("name", VIEWS)


@cache
def laid_out(name):
    return picture(VIEWS[name]).layout


def segments(points):
    return [(start, end) for start, end in pairwise(points) if start != end]


def touches(segment, box):
    (x0, y0), (x1, y1) = segment
    return (
        max(x0, x1) > box.start[0]
        and min(x0, x1) < box.end[0]
        and max(y0, y1) >= box.start[1]
        and min(y0, y1) < box.end[1]
    )


def crosses(one, other):
    """Whether an upright and a level segment cross, not counting where one ends on the other."""
    for upright, level in ((one, other), (other, one)):
        (x0, y0), (x1, y1) = upright
        (left, y), (right, y2) = level
        if x0 == x1 and y == y2:
            inside = min(left, right) < x0 < max(left, right)
            if inside and min(y0, y1) < y < max(y0, y1):
                return True
    return False


def lies_on(one, other):
    """Whether two segments share more than a point."""
    for axis in (0, 1):
        if one[0][axis] == one[1][axis] == other[0][axis] == other[1][axis]:
            along = 1 - axis
            low = max(min(one[0][along], one[1][along]), min(other[0][along], other[1][along]))
            high = min(max(one[0][along], one[1][along]), max(other[0][along], other[1][along]))
            return low < high
    return False


@EVERY
def test_boxes_of_nodes_and_labels_are_apart(name):
    layout = laid_out(name)
    boxes = [*layout.nodes.items(), *layout.labels.items()]
    assert [(one[0], other[0]) for one, other in combinations(boxes, 2) if one[1].overlaps(other[1])] == []


@EVERY
def test_boxes_lie_in_the_band_of_their_lane_and_in_the_picture(name):
    layout = laid_out(name)
    for node, box in layout.nodes.items():
        start, end = layout.bands[VIEWS[name].band_of(node)]
        assert start <= box.start[1]
        assert box.end[1] <= end
    for box in (*layout.nodes.values(), *layout.labels.values()):
        assert Box((0, 0), layout.size).overlaps(box)
        assert box.start[0] >= 0
        assert box.end[0] <= layout.size[0]


@EVERY
def test_wires_touch_no_box_but_their_own_label(name):
    layout = laid_out(name)
    for index, points in enumerate(layout.wires):
        others = [box for label, box in layout.labels.items() if label != index]
        for segment in segments(points):
            assert not any(touches(segment, box) for box in (*layout.nodes.values(), *others))


@EVERY
def test_a_wire_leads_from_its_producer_to_its_consumer(name):
    layout = laid_out(name)
    for link, points in zip(VIEWS[name].links, layout.wires, strict=True):
        producer, consumer = layout.nodes[link.key.producer], layout.nodes[link.key.consumer]
        assert points[0][0] == producer.end[0]
        assert producer.start[1] < points[0][1] < producer.end[1]
        assert points[-1][0] == consumer.start[0]
        assert consumer.start[1] < points[-1][1] < consumer.end[1]
        assert all(start[0] == end[0] or start[1] == end[1] for start, end in pairwise(points))


@EVERY
def test_wires_cross_as_often_as_their_order_says_and_never_lie_on_each_other(name):
    layout = laid_out(name)
    crossings = 0
    for one, other in combinations(layout.wires, 2):
        pairs = [(first, second) for first in segments(one) for second in segments(other)]
        assert not any(lies_on(first, second) for first, second in pairs)
        crossings += sum(crosses(first, second) for first, second in pairs)
    assert crossings == layout.grid.crossings()


@pytest.mark.parametrize("name", shipped())
def test_in_a_shipped_topology_no_wires_cross_but_where_they_must(name):
    there = laid_out(name).grid.crossings()
    assert there == least_crossings(VIEWS[name])
    assert there == (1 if name in ("latebind", "sync") else 0)


@EVERY
def test_no_picture_has_fewer_crossings_than_it_must(name):
    assert laid_out(name).grid.crossings() >= least_crossings(VIEWS[name])


def test_with_no_more_wires_than_the_plane_takes_none_must_cross():
    """In `sync`, reclaim_mixed waits for prefill and dispatch, has two consumers, and leads back to bind too."""
    sync = load("sync")
    mixed_back = parse_edge("reclaim_mixed@1 -> bind")
    without = {key: edge for key, edge in sync.edges.items() if key != mixed_back}
    assert least_crossings(view(sync)) == 1
    assert least_crossings(view(sync.model_copy(update={"edges": without}))) == 0


@pytest.mark.parametrize("name", VIEWS)
def test_where_wires_cross_no_other_start_of_the_search_does_better(name):
    found = laid_out(name).grid
    if not found.crossings():
        return
    for seed in range(5):
        other = copy.copy(found)
        other.restore(found.state())
        shaken(other, random.Random(seed))
        improve(other, MOST_WORK)
        assert other.crossings() >= found.crossings(), seed


def shaken(grid, chance):
    """The grid after some moves by chance."""
    for _ in range(10):
        for _, _ in zip(range(chance.randint(1, 60)), moves(grid), strict=False):
            pass
        grid.drop_empty()


TWO_ROUTES = """\
nodes:
  early: {kind: prepare}
  a: {kind: prepare}
  b: {kind: dispatch}
  c: {kind: reclaim}
  d: {kind: prepare}
  e: {kind: dispatch}
  f: {kind: reclaim}
edges:
  early -> a: {}
  a -> b: {}
  b -> c: {}
  d -> e: {}
  e -> f: {}
routes:
  one: [early, a, b, c]
  other: [d, e, f]
lanes:
  host: [early, a, d, c, f]
  device: [b, e]
"""


def test_two_groups_that_go_opposite_ways_between_lanes_are_moved_apart():
    """Each route goes host, device, host: side by side, one would come back where the other goes down."""
    grid = arrange(view(load_text(TWO_ROUTES)))
    assert grid.crossings() == 0
    assert grid.column["d"] > grid.column["early"]


@EVERY
def test_columns_follow_the_step(name):
    grid = laid_out(name).grid
    for link in VIEWS[name].links:
        if link.key.back == 0:
            assert grid.column[link.key.producer] < grid.column[link.key.consumer]


def test_a_cycle_of_edges_is_drawn():
    cyclic = load("pingpong").model_copy(
        update={"edges": {**load("pingpong").edges, **back("reclaim -> prepare")}}
    )
    layout = picture(view(cyclic)).layout
    assert len(layout.wires) == len(cyclic.edges)


def back(text):
    return {parse_edge(text): Edge()}
